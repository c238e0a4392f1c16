//! The HTTP client towards the identity provider: no redirects, a time limit, a size limit.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use openidconnect::{AsyncHttpClient, HttpRequest, HttpResponse};

/// Seconds one request may take.
const TIMEOUT_S: u64 = 10;
/// Bytes an answer may have.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// The client.
pub(super) struct ProviderHttp(reqwest::Client);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderHttpError {
    #[error("{0}")]
    Request(#[from] reqwest::Error),
    #[error("the answer has more than {ANSWER_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the answer can't be used: {0}")]
    Answer(#[from] http::Error),
}

impl ProviderHttp {
    /// Redirects are not followed: a provider has no reason to send us elsewhere, and elsewhere may be our own network.
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        let builder = reqwest::Client::builder();
        builder.redirect(reqwest::redirect::Policy::none()).timeout(Duration::from_secs(TIMEOUT_S)).build().map(Self)
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ProviderHttpError> {
        let mut response = self.0.execute(request.try_into()?).await?;
        let mut answer = http::Response::builder().status(response.status());
        for (name, value) in response.headers() {
            answer = answer.header(name, value);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(ProviderHttpError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(answer.body(body)?)
    }
}

impl<'c> AsyncHttpClient<'c> for ProviderHttp {
    type Error = ProviderHttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, ProviderHttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}
