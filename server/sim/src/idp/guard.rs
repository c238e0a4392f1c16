//! Loopback only: no request for another host is answered, so that no foreign page can reach the provider by pointing its
//! own name at 127.0.0.1.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::HOST;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// Whether a host, without port, is this machine.
pub(super) fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || bare.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

/// Refuses requests for another host.
pub(super) async fn loopback_only(request: Request, next: Next) -> Response {
    let named = request.headers().get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
    let authority = named.or_else(|| request.uri().authority().map(ToString::to_string)).unwrap_or_default();
    if is_loopback_host(without_port(&authority)) {
        next.run(request).await
    } else {
        (StatusCode::MISDIRECTED_REQUEST, "this identity provider answers on loopback only\n").into_response()
    }
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !host.is_empty() => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_counts() {
        for good in ["127.0.0.1", "127.8.9.1", "localhost", "LOCALHOST", "::1", "[::1]"] {
            assert!(is_loopback_host(good), "{good}");
        }
        for bad in ["", "0.0.0.0", "10.0.0.1", "localhost.example", "127.0.0.1.example", "::2", "evil"] {
            assert!(!is_loopback_host(bad), "{bad}");
        }
        assert_eq!(without_port("127.0.0.1:3002"), "127.0.0.1");
        assert_eq!(without_port("[::1]:3002"), "[::1]");
        assert_eq!(without_port("[::1]"), "[::1]");
        assert_eq!(without_port("localhost"), "localhost");
    }
}
