//! A minimal S3 client: signs requests by hand (AWS Signature Version 4), retries nothing.

use bytes::Bytes;
use chrono::Utc;
use reqwest::{Method, StatusCode};
use sha2::{Digest, Sha256};

/// A client of one server.
pub(crate) struct Client {
    pub(crate) endpoint: String,
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) http: reqwest::Client,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The text of the first element of this name.
    pub(crate) fn element(&self, name: &str) -> &str {
        let Some((_, rest)) = self.body.split_once(&format!("<{name}>")) else { return "" };
        rest.split_once(&format!("</{name}>")).unwrap().0
    }

    /// The texts of all elements of this name.
    pub(crate) fn elements(&self, name: &str) -> Vec<&str> {
        let open = format!("<{name}>");
        self.body.split(open.as_str()).skip(1).map(|rest| rest.split_once("</").unwrap().0).collect()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// HMAC-SHA-256 (RFC 2104).
fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().to_vec()
}

impl Client {
    /// Sends a request; `query` must be sorted and encoded. An error is a connection that broke.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        query: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Answer, reqwest::Error> {
        let now = Utc::now();
        let (date, time) = (now.format("%Y%m%d").to_string(), now.format("%Y%m%dT%H%M%SZ").to_string());
        let host = self.endpoint.strip_prefix("http://").unwrap();
        let scope = format!("{date}/us-east-1/s3/aws4_request");
        let names = "host;x-amz-content-sha256;x-amz-date";
        let canonical = format!(
            "{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:UNSIGNED-PAYLOAD\nx-amz-date:{time}\n\n{names}\nUNSIGNED-PAYLOAD"
        );
        let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        let key = ["us-east-1", "s3", "aws4_request"]
            .iter()
            .fold(hmac(format!("AWS4{}", self.secret_key).as_bytes(), &date), |key, part| hmac(&key, part));
        let signature = hex(&hmac(&key, &to_sign));
        let access_key = &self.access_key;
        let authorization =
            format!("AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}");
        let mut request = self
            .http
            .request(method, format!("{}{path}?{query}", self.endpoint))
            .header("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
            .header("x-amz-date", time)
            .header("authorization", authorization);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.body(body.into()).send().await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        Ok(Answer { status, headers, body: answer.text().await? })
    }
}
