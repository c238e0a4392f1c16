//! What the S3 store is told, and the clients built from it.
//!
//! Invariant: the client of writes never repeats a request by itself (DESIGN §4: a write that succeeded and lost its
//! answer would come back as lost against itself); TLS is rustls with ring and the system's root certificates.
//! Never: a secret in a message or in `Debug`.

use std::fmt;
use std::time::Duration;

use aws_credential_types::provider::{self, future};
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Builder, Credentials, ProvideCredentials, Region, RequestChecksumCalculation,
    ResponseChecksumValidation, SharedCredentialsProvider, SharedHttpClient,
};
use aws_smithy_http_client::tls;
use tokio::sync::OnceCell;

/// Times a read, listing or delete is sent at most, the first included. A write is sent once.
pub(super) const READ_ATTEMPTS_MAX: u32 = 3;

/// How to reach an S3 server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Settings {
    /// `http://` or `https://` address of a server that speaks S3; None: AWS, by its region.
    pub endpoint: Option<String>,
    /// Region, also part of the signature.
    pub region: String,
    /// `http://host/bucket/key` instead of `http://bucket.host/key`.
    pub path_style: bool,
    /// When checksums are sent and checked.
    pub checksum: S3Checksum,
    /// Who we are.
    pub credentials: S3Credentials,
    /// How long a request may take.
    pub timeouts: S3Timeouts,
}

/// When checksums are sent and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum S3Checksum {
    /// Only where the operation demands one; older servers need this.
    WhenRequired,
    /// Wherever the operation has one.
    WhenSupported,
}

/// Who we are to the S3 server.
#[derive(Clone, PartialEq, Eq)]
pub enum S3Credentials {
    /// A fixed pair of keys.
    Static {
        /// Access key id.
        access_key_id: String,
        /// Its secret.
        secret_access_key: String,
        /// Token of a session, where the keys belong to one.
        session_token: Option<String>,
    },
    /// The usual places, in AWS's order: environment, profile files, web identity, container, instance.
    Chain,
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static { access_key_id, .. } => {
                f.debug_struct("Static").field("access_key_id", access_key_id).finish_non_exhaustive()
            }
            Self::Chain => f.write_str("Chain"),
        }
    }
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct S3Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// One attempt.
    pub attempt: Duration,
    /// All attempts together; also the time the body of an answer may take.
    pub operation: Duration,
}

impl Default for S3Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(3), attempt: Duration::from_secs(15), operation: Duration::from_secs(30) }
    }
}

/// Settings that no client can be built from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum S3SettingsError {
    /// The endpoint is no web address.
    #[error("s3 endpoint `{endpoint}` must begin with http:// or https:// and hold no user, query or fragment")]
    Endpoint {
        /// The endpoint.
        endpoint: String,
    },
    /// The region is missing.
    #[error("s3 region `{region}` can't be used: name the server's, e.g. eu-central-1, or us-east-1 where it has none")]
    Region {
        /// The region.
        region: String,
    },
    /// A key is empty.
    #[error("s3 {part} is empty: set it, or leave the keys out to use the credentials of the environment")]
    Credentials {
        /// Which part.
        part: &'static str,
    },
    /// A time-out of zero, or an attempt that may take longer than the operation.
    #[error("s3 time-outs must be above zero and connect <= attempt <= operation, not {timeouts:?}")]
    Timeouts {
        /// What was given.
        timeouts: S3Timeouts,
    },
}

impl S3Settings {
    fn check(&self) -> Result<(), S3SettingsError> {
        if let Some(endpoint) = &self.endpoint {
            let url = reqwest::Url::parse(endpoint).ok().filter(|url| {
                matches!(url.scheme(), "http" | "https")
                    && url.has_host()
                    && url.username().is_empty()
                    && url.password().is_none()
                    && url.query().is_none()
                    && url.fragment().is_none()
            });
            if url.is_none() {
                // A password in front of the host must not be repeated.
                let shown = endpoint.rsplit('@').next().unwrap_or_default().to_owned();
                return Err(S3SettingsError::Endpoint { endpoint: shown });
            }
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if self.region.is_empty() || !self.region.bytes().all(plain) {
            return Err(S3SettingsError::Region { region: self.region.clone() });
        }
        if let S3Credentials::Static { access_key_id, secret_access_key, session_token } = &self.credentials {
            let parts = [
                ("access key id", access_key_id.is_empty()),
                ("secret access key", secret_access_key.is_empty()),
                ("session token", session_token.as_ref().is_some_and(String::is_empty)),
            ];
            if let Some((part, _)) = parts.into_iter().find(|(_, empty)| *empty) {
                return Err(S3SettingsError::Credentials { part });
            }
        }
        let S3Timeouts { connect, attempt, operation } = self.timeouts;
        if connect.is_zero() || connect > attempt || attempt > operation {
            return Err(S3SettingsError::Timeouts { timeouts: self.timeouts });
        }
        Ok(())
    }

    /// Two clients over one pool of connections: one for reads, listings and deletes, one for writes.
    pub(super) fn clients(&self) -> Result<(Client, Client), S3SettingsError> {
        self.check()?;
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring))
            .build_https();
        let base = self.config(&http);
        let retry = |attempts| RetryConfig::standard().with_max_attempts(attempts);
        let reads = base.clone().retry_config(retry(READ_ATTEMPTS_MAX)).build();
        let writes = base.retry_config(retry(1)).build();
        Ok((Client::from_conf(reads), Client::from_conf(writes)))
    }

    fn config(&self, http: &SharedHttpClient) -> Builder {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(self.timeouts.connect)
            .read_timeout(self.timeouts.attempt)
            .operation_attempt_timeout(self.timeouts.attempt)
            .operation_timeout(self.timeouts.operation)
            .build();
        let (send, check) = match self.checksum {
            S3Checksum::WhenRequired => {
                (RequestChecksumCalculation::WhenRequired, ResponseChecksumValidation::WhenRequired)
            }
            S3Checksum::WhenSupported => {
                (RequestChecksumCalculation::WhenSupported, ResponseChecksumValidation::WhenSupported)
            }
        };
        let mut config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http.clone())
            .region(Region::new(self.region.clone()))
            .force_path_style(self.path_style)
            .timeout_config(timeouts)
            .request_checksum_calculation(send)
            .response_checksum_validation(check)
            .credentials_provider(self.provider(http));
        if let Some(endpoint) = &self.endpoint {
            config = config.endpoint_url(endpoint);
        }
        config
    }

    fn provider(&self, http: &SharedHttpClient) -> SharedCredentialsProvider {
        match &self.credentials {
            S3Credentials::Static { access_key_id, secret_access_key, session_token } => {
                SharedCredentialsProvider::new(Credentials::new(
                    access_key_id,
                    secret_access_key,
                    session_token.clone(),
                    None,
                    "configuration",
                ))
            }
            S3Credentials::Chain => SharedCredentialsProvider::new(Chain {
                http: http.clone(),
                region: Region::new(self.region.clone()),
                built: OnceCell::new(),
            }),
        }
    }
}

/// AWS's chain of places, looked at when credentials are first needed.
struct Chain {
    http: SharedHttpClient,
    region: Region,
    built: OnceCell<aws_config::default_provider::credentials::DefaultCredentialsChain>,
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chain").field("region", &self.region).finish_non_exhaustive()
    }
}

impl Chain {
    async fn credentials(&self) -> provider::Result {
        let build = || {
            let config =
                aws_config::provider_config::ProviderConfig::without_region().with_http_client(self.http.clone());
            aws_config::default_provider::credentials::DefaultCredentialsChain::builder()
                .configure(config)
                .region(self.region.clone())
                .build()
        };
        self.built.get_or_init(build).await.provide_credentials().await
    }
}

impl ProvideCredentials for Chain {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.credentials())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> S3Settings {
        S3Settings {
            endpoint: Some("http://127.0.0.1:9000".to_owned()),
            region: "us-east-1".to_owned(),
            path_style: true,
            checksum: S3Checksum::WhenSupported,
            credentials: S3Credentials::Static {
                access_key_id: "key".to_owned(),
                secret_access_key: "top-secret".to_owned(),
                session_token: None,
            },
            timeouts: S3Timeouts::default(),
        }
    }

    #[test]
    fn settings_that_fit_no_client_are_refused() {
        assert_eq!(settings().check(), Ok(()));
        for bad in ["127.0.0.1:9000", "ftp://a", "http://", "https://user:pw@host", "http://a/?x=1"] {
            let refused = S3Settings { endpoint: Some(bad.to_owned()), ..settings() }.check();
            assert!(
                matches!(&refused, Err(S3SettingsError::Endpoint { endpoint }) if !endpoint.contains("pw")),
                "{bad}"
            );
        }
        for bad in ["", "eu central"] {
            let refused = S3Settings { region: bad.to_owned(), ..settings() }.check();
            assert_eq!(refused, Err(S3SettingsError::Region { region: bad.to_owned() }));
        }
        let timeouts = S3Timeouts { attempt: Duration::from_secs(60), ..S3Timeouts::default() };
        assert_eq!(S3Settings { timeouts, ..settings() }.check(), Err(S3SettingsError::Timeouts { timeouts }));
        let credentials = S3Credentials::Static {
            access_key_id: "key".to_owned(),
            secret_access_key: String::new(),
            session_token: None,
        };
        let refused = S3Settings { credentials, ..settings() }.check();
        assert_eq!(refused, Err(S3SettingsError::Credentials { part: "secret access key" }));
    }

    #[test]
    fn debug_shows_no_secret() {
        assert!(!format!("{:?}", settings()).contains("top-secret"));
    }

    #[test]
    fn only_reads_are_repeated() {
        let clients = settings().clients();
        let attempts = |client: &Client| client.config().retry_config().map(RetryConfig::max_attempts);
        assert!(clients.as_ref().is_ok_and(|(reads, _)| attempts(reads) == Some(READ_ATTEMPTS_MAX)));
        assert!(clients.as_ref().is_ok_and(|(_, writes)| attempts(writes) == Some(1)));
    }
}
