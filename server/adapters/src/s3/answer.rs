//! What the S3 server's answers mean to the port.
//!
//! Invariant: a write is `Lost` or `Refused` only if the server itself said so; everything that may hide a write that
//! happened is `Unknown` (DESIGN §4).
//! Never: a secret in a reason; answers are cut to a readable length.

use std::error::Error;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use ports::{BucketName, Condition, PutError, StoreError};

/// Characters of a server's text that are repeated in a reason.
const TEXT_CHARS_MAX: usize = 300;

/// An answer that is no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The server answered with an error.
    Said {
        /// HTTP status.
        status: u16,
        /// S3's error code; empty where the answer had none (HEAD).
        code: String,
        /// Its sentence.
        message: String,
    },
    /// No answer that can be read: time-out, connection lost, garbage.
    Silent {
        /// What was seen.
        reason: String,
    },
}

impl Answer {
    /// Reads the SDK's error.
    pub(super) fn of<E>(error: &SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        match error {
            SdkError::ServiceError(said) => Self::Said {
                status: said.raw().status().as_u16(),
                code: said.err().code().unwrap_or_default().to_owned(),
                message: cut(said.err().message().unwrap_or_default()),
            },
            other => Self::Silent { reason: cut(&chain(other)) },
        }
    }

    /// Whether it has this code.
    pub(super) fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Said { code, .. } if code == wanted)
    }

    /// Whether it has this status.
    pub(super) fn has_status(&self, wanted: u16) -> bool {
        matches!(self, Self::Said { status, .. } if *status == wanted)
    }

    /// Whether the server knows the operation but not this object or version.
    pub(super) fn is_missing_object(&self) -> bool {
        // By its code: a 404 of something in between, a proxy say, knows nothing of the object.
        self.has_status(404) && (self.is("NoSuchKey") || self.is("NoSuchVersion"))
    }

    /// Whether the server says that it can't do this at all, or not for us.
    pub(super) fn is_unsupported(&self) -> bool {
        self.has_status(501) || self.has_status(405) || self.has_status(403) || self.is("NotImplemented")
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Silent { reason } => reason.clone(),
            Self::Said { status, code, message } => {
                let parts = [status.to_string(), code.clone(), message.clone()];
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// As the outcome of a write.
    pub(super) fn of_put(&self, bucket: &BucketName, condition: &Condition) -> PutError {
        let Self::Said { status, code, .. } = self else {
            return PutError::Unknown { reason: self.text() };
        };
        match (*status, code.as_str()) {
            (412, _) => PutError::Lost,
            (409, _) => PutError::Conflict,
            (404, "NoSuchKey" | "NotFound" | "") if matches!(condition, Condition::IfMatch(_)) => PutError::Lost,
            (404, "NoSuchBucket") => {
                PutError::Refused { reason: StoreError::NoBucket { bucket: bucket.to_string() }.to_string() }
            }
            (408 | 429 | 500..=u16::MAX, _)
            | (_, "SlowDown" | "RequestTimeout" | "Throttling" | "ThrottlingException") => {
                PutError::Unknown { reason: self.text() }
            }
            (200..300, _) => PutError::Unknown { reason: format!("unreadable answer: {}", self.text()) },
            _ => PutError::Refused { reason: format!("bucket `{bucket}`: {}{}", self.text(), self.way_out()) },
        }
    }

    /// As the failure of a read, listing, delete or of work on a bucket.
    pub(super) fn of_read(&self, bucket: &BucketName) -> StoreError {
        if self.is("NoSuchBucket") {
            return StoreError::NoBucket { bucket: bucket.to_string() };
        }
        StoreError::Unavailable { reason: format!("bucket `{bucket}`: {}{}", self.text(), self.way_out()) }
    }

    fn way_out(&self) -> &'static str {
        match self {
            Self::Said { status: 401 | 403, .. } => {
                "; check the access key, its rights on this bucket, and this machine's clock"
            }
            Self::Said { status: 300..=399, .. } => "; check the region and the endpoint",
            Self::Said { status: 413, .. } => "; the server takes no object of this size",
            Self::Said { .. } | Self::Silent { .. } => "",
        }
    }
}

/// An error and its causes, each once.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut parts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !parts.contains(&text) {
            parts.push(text);
        }
        cause = inner.source();
    }
    parts.join(": ")
}

fn cut(text: &str) -> String {
    if text.chars().count() <= TEXT_CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(TEXT_CHARS_MAX).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that can't build its own data must fail loudly")]

    use ports::ETag;

    use super::*;

    fn outcome(status: u16, code: &str, condition: &Condition) -> PutError {
        let said = Answer::Said { status, code: code.to_owned(), message: "text".to_owned() };
        said.of_put(&BucketName::configured("bucket-one").unwrap(), condition)
    }

    #[test]
    fn a_write_has_four_outcomes() {
        let (absent, matching) = (Condition::IfAbsent, Condition::IfMatch(ETag("\"a\"".to_owned())));
        assert_eq!(outcome(412, "PreconditionFailed", &absent), PutError::Lost);
        assert_eq!(outcome(412, "", &matching), PutError::Lost);
        assert_eq!(outcome(404, "NoSuchKey", &matching), PutError::Lost);
        assert_eq!(outcome(409, "ConditionalRequestConflict", &absent), PutError::Conflict);
        assert_eq!(outcome(409, "", &matching), PutError::Conflict);
        let unknown =
            [(500, "InternalError"), (503, "SlowDown"), (503, ""), (504, ""), (429, ""), (400, "RequestTimeout")];
        for (status, code) in unknown {
            assert!(matches!(outcome(status, code, &absent), PutError::Unknown { .. }), "{status} {code}");
        }
        for (status, code) in [(403, "AccessDenied"), (404, "NoSuchBucket"), (400, "InvalidRequest"), (301, "")] {
            let refused = outcome(status, code, &matching);
            assert!(matches!(&refused, PutError::Refused { reason } if reason.contains("bucket-one")), "{refused:?}");
        }
        assert!(matches!(outcome(404, "NoSuchKey", &absent), PutError::Refused { .. }), "nothing asked for that key");
        let silent = Answer::Silent { reason: "connection reset".to_owned() };
        let bucket = BucketName::configured("bucket-one").unwrap();
        assert_eq!(silent.of_put(&bucket, &absent), PutError::Unknown { reason: "connection reset".to_owned() });
    }

    #[test]
    fn long_answers_are_cut() {
        assert_eq!(cut(&"ä".repeat(5_000)).chars().count(), TEXT_CHARS_MAX + 1);
    }
}
