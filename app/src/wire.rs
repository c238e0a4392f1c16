//! The body of a server function's call: JSON, whose mistakes are named by their place.
//!
//! Invariant: what the browser writes is plain JSON; where the server can't read a member, its error says which.
//! Never: rules; those are looked at behind the backend.

use leptos::server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType, codec::Post};
use serde::{Serialize, de::DeserializeOwned};

/// The encoding.
pub struct NamedJson;

/// Calls by POST with a JSON body.
pub type Call = Post<NamedJson>;

impl ContentType for NamedJson {
    const CONTENT_TYPE: &'static str = "application/json";
}

impl FormatType for NamedJson {
    const FORMAT_TYPE: Format = Format::Text;
}

impl<T: Serialize> Encodes<T> for NamedJson {
    type Error = serde_json::Error;

    fn encode(output: &T) -> Result<Bytes, Self::Error> {
        serde_json::to_vec(output).map(Bytes::from)
    }
}

impl<T: DeserializeOwned> Decodes<T> for NamedJson {
    type Error = String;

    #[cfg(feature = "ssr")]
    fn decode(bytes: Bytes) -> Result<T, Self::Error> {
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let read = serde_path_to_error::deserialize(&mut reader);
        read.map_err(|error| {
            let (place, reason) = (error.path().to_string(), error.into_inner());
            if place == "." { reason.to_string() } else { format!("{place}: {reason}") }
        })
    }

    #[cfg(not(feature = "ssr"))]
    fn decode(bytes: Bytes) -> Result<T, Self::Error> {
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    }
}
