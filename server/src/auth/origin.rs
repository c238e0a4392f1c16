//! Whether a request comes from one of our own pages.

use axum::http::HeaderMap;
use axum::http::header::ORIGIN;
use openidconnect::url::Url;

/// `Sec-Fetch-Site` decides where the browser sends it, else `Origin`; a request with neither is not from a browser's page
/// and is refused. For requests that change something (browsers send `Origin` with every one of them) and for WebSockets.
pub fn is_same_origin(headers: &HeaderMap, external_url: &Url) -> bool {
    if let Some(site) = headers.get("sec-fetch-site") {
        return site.as_bytes() == b"same-origin";
    }
    let own = external_url.origin().ascii_serialization();
    headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes() == own.as_bytes())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't parse its own data must fail loudly")]
mod tests {
    use super::*;

    fn same(pairs: &[(&'static str, &'static str)]) -> bool {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        is_same_origin(&headers, &Url::parse("https://workflow.example/").unwrap())
    }

    #[test]
    fn only_our_own_pages_pass() {
        assert!(same(&[("sec-fetch-site", "same-origin")]));
        assert!(same(&[("origin", "https://workflow.example")]));
        for bad in [
            &[][..],
            &[("sec-fetch-site", "cross-site")],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none")],
            &[("sec-fetch-site", "cross-site"), ("origin", "https://workflow.example")],
            &[("origin", "null")],
            &[("origin", "http://workflow.example")],
            &[("origin", "https://workflow.example:444")],
            &[("origin", "https://workflow.example.evil.example")],
        ] {
            assert!(!same(bad), "{bad:?}");
        }
    }
}
