//! Who really called, where a proxy stands in front of the server.
//!
//! Purpose: the address a tenant's `allowed_ips` is compared with.
//! Invariant: `X-Forwarded-For` counts only as far as trusted proxies wrote it: read from its right end, the first
//! address that is no trusted proxy is the caller. What stands left of it was written by the caller and means nothing.
//! Never: a name lookup; another header (`Forwarded`, `X-Real-IP`), which a proxy may pass on unread.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue};

use crate::config::IpRange;

const HEADER: &str = "x-forwarded-for";
/// Hops that are looked at; a longer chain is refused.
const HOPS_MAX: usize = 32;

/// A chain of proxies that can't be read. Guessing would let the proxy's own address pass for the caller's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClientAddressError {
    /// Not an address.
    #[error("X-Forwarded-For holds something that is not an address: let the proxy send addresses only")]
    NotAnAddress,
    /// Too long.
    #[error("X-Forwarded-For names more than {HOPS_MAX} trusted proxies")]
    TooLong,
}

/// The caller's address. Without trusted proxies, or from a peer that is none, it is the connection's.
///
/// # Errors
/// [`ClientAddressError`] where a trusted proxy's header can't be read.
pub(crate) fn client_address(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &[IpRange],
) -> Result<IpAddr, ClientAddressError> {
    let is_trusted = |address: IpAddr| trusted.iter().any(|range| range.contains(address));
    let mut caller = peer;
    if !is_trusted(peer) {
        return Ok(caller);
    }
    let values: Vec<&[u8]> = headers.get_all(HEADER).iter().map(HeaderValue::as_bytes).collect();
    let hops = values.iter().rev().flat_map(|value| value.rsplit(|byte| *byte == b','));
    for (index, hop) in hops.enumerate() {
        if index >= HOPS_MAX {
            return Err(ClientAddressError::TooLong);
        }
        caller = address(hop).ok_or(ClientAddressError::NotAnAddress)?;
        if !is_trusted(caller) {
            break;
        }
    }
    Ok(caller)
}

/// `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:4711`: proxies write all of them.
fn address(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse().ok().map(|address: SocketAddr| address.ip()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn seen(peer: &str, forwarded: &[&str], trusted: &[&str]) -> Result<String, ClientAddressError> {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(HEADER, value.parse().unwrap());
        }
        let trusted: Vec<IpRange> = trusted.iter().map(|range| range.parse().unwrap()).collect();
        client_address(peer.parse().unwrap(), &headers, &trusted).map(|address| address.to_string())
    }

    fn is(address: &str) -> Result<String, ClientAddressError> {
        Ok(address.to_owned())
    }

    #[test]
    fn a_header_from_a_peer_that_is_not_trusted_means_nothing() {
        assert_eq!(seen("203.0.113.9", &["10.0.0.5"], &[]), is("203.0.113.9"));
        assert_eq!(seen("203.0.113.9", &["10.0.0.5"], &["10.0.0.0/8"]), is("203.0.113.9"));
        assert_eq!(seen("203.0.113.9", &["nonsense"], &["10.0.0.0/8"]), is("203.0.113.9"));
    }

    #[test]
    fn the_rightmost_hop_that_is_not_trusted_is_the_caller() {
        let trusted = ["10.0.0.0/8"];
        assert_eq!(seen("10.0.0.1", &[], &trusted), is("10.0.0.1"));
        assert_eq!(seen("10.0.0.1", &["198.51.100.7"], &trusted), is("198.51.100.7"));
        // The left part is what the caller wrote to look like somebody else.
        assert_eq!(seen("10.0.0.1", &["192.0.2.1, 198.51.100.7, 10.0.0.2"], &trusted), is("198.51.100.7"));
        assert_eq!(seen("10.0.0.1", &["192.0.2.1", "198.51.100.7"], &trusted), is("198.51.100.7"));
        assert_eq!(seen("10.0.0.1", &["junk, 198.51.100.7"], &trusted), is("198.51.100.7"));
        assert_eq!(seen("10.0.0.1", &["10.0.0.3, 10.0.0.2"], &trusted), is("10.0.0.3"));
    }

    #[test]
    fn ports_brackets_and_mapped_addresses_are_read() {
        let trusted = ["10.0.0.0/8", "2001:db8::/32"];
        assert_eq!(seen("10.0.0.1", &["198.51.100.7:4711"], &trusted), is("198.51.100.7"));
        assert_eq!(seen("::ffff:10.0.0.1", &["[2001:db9::1]:4711"], &trusted), is("2001:db9::1"));
        assert_eq!(seen("2001:db8::5", &["[2001:db9::1]"], &trusted), is("2001:db9::1"));
    }

    #[test]
    fn what_a_trusted_proxy_sends_and_cannot_be_read_is_refused() {
        let trusted = ["10.0.0.0/8"];
        for bad in ["unknown", "", "198.51.100.7,", "_hidden", "ä"] {
            assert_eq!(seen("10.0.0.1", &[bad], &trusted), Err(ClientAddressError::NotAnAddress), "{bad}");
        }
        let long = vec!["10.0.0.2"; HOPS_MAX + 1].join(",");
        assert_eq!(seen("10.0.0.1", &[&long], &trusted), Err(ClientAddressError::TooLong));
    }
}
