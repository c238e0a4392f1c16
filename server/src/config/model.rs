//! The keys, their types and their defaults. The names are public (DESIGN §8) and never change.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use chrono_tz::Tz;
use openidconnect::url::Url;
use serde::{Deserialize, Serialize};
use vocab::{CustomerId, TenantId, TenantKey};

use super::{IpRange, Secret};

/// Everything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `[server]`.
    #[serde(default)]
    pub server: ServerSettings,
    /// `[store]`.
    #[serde(default)]
    pub store: StoreSettings,
    /// `[oidc]`.
    pub oidc: OidcSettings,
    /// `[[tenant]]`, each.
    #[serde(default)]
    pub tenant: Vec<TenantSettings>,
}

/// `[server]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// Address to listen on; default `127.0.0.1:3000`.
    pub address: SocketAddr,
    /// Address people use, scheme and host only; default `http://127.0.0.1:3000`.
    pub external_url: Url,
    /// The `{env}` of the bucket names; default `prod`.
    pub env: String,
    /// Proxies whose `X-Forwarded-For` is believed; default none.
    pub trusted_proxies: Vec<IpRange>,
    /// Triggers one tenant may send to this node in a minute, 0 = no limit; default 6000.
    pub triggers_per_minute: u32,
}

impl Default for ServerSettings {
    fn default() -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], 3000));
        Self {
            address,
            external_url: default_external_url(),
            env: "prod".to_owned(),
            trusted_proxies: Vec::new(),
            triggers_per_minute: 6_000,
        }
    }
}

#[expect(clippy::expect_used, reason = "a constant address, covered by a test")]
fn default_external_url() -> Url {
    Url::parse("http://127.0.0.1:3000").expect("a constant")
}

impl ServerSettings {
    /// Whether people come over https, so that cookies may be `Secure`.
    pub fn is_https(&self) -> bool {
        self.external_url.scheme() == "https"
    }
}

/// `[store]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreSettings {
    /// Which store; default `local`.
    pub kind: StoreKind,
    /// Folder of the local store; default `data`.
    pub path: PathBuf,
    /// Bucket of what belongs to no tenant (people, sessions); default `connectworkflow-system`.
    pub system_bucket: String,
    /// Endpoint (s3); without it AWS, by the region.
    pub endpoint: Option<Url>,
    /// Region (s3); default `us-east-1` where an endpoint is named, demanded without one.
    pub region: Option<String>,
    /// `http://host/bucket` instead of `http://bucket.host` (s3); default: yes where an endpoint is named.
    pub path_style: Option<bool>,
    /// When checksums are sent (s3); default `when_supported`.
    pub checksum: Option<Checksum>,
    /// Access key (s3); without it the credentials of environment, profile, container or instance.
    pub access_key_id: Option<Secret>,
    /// Its file.
    pub access_key_id_file: Option<PathBuf>,
    /// Its secret (s3).
    pub secret_access_key: Option<Secret>,
    /// Its file.
    pub secret_access_key_file: Option<PathBuf>,
    /// Token of a session that the keys belong to (s3).
    pub session_token: Option<Secret>,
    /// Its file.
    pub session_token_file: Option<PathBuf>,
    /// Seconds until a connection stands (s3); default 3.
    pub connect_timeout_s: Option<u64>,
    /// Seconds one attempt may take (s3); default 15. Writes have one attempt.
    pub attempt_timeout_s: Option<u64>,
    /// Seconds all attempts of one read may take together (s3); default 30.
    pub operation_timeout_s: Option<u64>,
}

/// Region where a server has none of its own.
const REGION_DEFAULT: &str = "us-east-1";
/// Seconds until a connection to S3 stands.
const CONNECT_TIMEOUT_S: u64 = 3;
/// Seconds one attempt of an S3 request may take.
const ATTEMPT_TIMEOUT_S: u64 = 15;
/// Seconds all attempts of an S3 request may take together.
const OPERATION_TIMEOUT_S: u64 = 30;

impl StoreSettings {
    /// The region in force (s3).
    pub fn s3_region(&self) -> &str {
        self.region.as_deref().unwrap_or(REGION_DEFAULT)
    }

    /// Whether buckets stand in the path (s3).
    pub fn s3_path_style(&self) -> bool {
        self.path_style.unwrap_or(self.endpoint.is_some())
    }

    /// Seconds for connecting, one attempt, and all attempts (s3).
    pub fn s3_timeouts_s(&self) -> (u64, u64, u64) {
        (
            self.connect_timeout_s.unwrap_or(CONNECT_TIMEOUT_S),
            self.attempt_timeout_s.unwrap_or(ATTEMPT_TIMEOUT_S),
            self.operation_timeout_s.unwrap_or(OPERATION_TIMEOUT_S),
        )
    }
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            kind: StoreKind::Local,
            path: PathBuf::from("data"),
            system_bucket: "connectworkflow-system".to_owned(),
            endpoint: None,
            region: None,
            path_style: None,
            checksum: None,
            access_key_id: None,
            access_key_id_file: None,
            secret_access_key: None,
            secret_access_key_file: None,
            session_token: None,
            session_token_file: None,
            connect_timeout_s: None,
            attempt_timeout_s: None,
            operation_timeout_s: None,
        }
    }
}

/// Which store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    /// Embedded, on this machine's disk.
    Local,
    /// S3 or a server that speaks it.
    S3,
}

/// When checksums are sent to S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksum {
    /// Only where the operation demands one; older servers need this.
    WhenRequired,
    /// Always.
    WhenSupported,
}

/// `[oidc]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcSettings {
    /// The identity provider, exactly as its metadata says it (a slash at the end counts).
    pub issuer: String,
    /// Our name there.
    pub client_id: String,
    /// Our secret there; a public client has none.
    #[serde(default)]
    pub client_secret: Option<Secret>,
    /// Its file.
    #[serde(default)]
    pub client_secret_file: Option<PathBuf>,
    /// Claim with the groups, in the ID token or from userinfo; dots lead into objects (`realm_access.roles`). Default
    /// `groups`.
    #[serde(default = "default_groups_claim")]
    pub groups_claim: String,
    /// Scopes asked for besides `openid`; default `profile`, `email`.
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
}

fn default_groups_claim() -> String {
    "groups".to_owned()
}

fn default_scopes() -> Vec<String> {
    vec!["profile".to_owned(), "email".to_owned()]
}

/// `[[tenant]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantSettings {
    /// customerID, free text.
    pub customer: CustomerId,
    /// tenantID, free text.
    pub tenant: TenantId,
    /// Time zone of dates and due times; default `Europe/Berlin`.
    #[serde(default = "default_time_zone", with = "time_zone")]
    pub time_zone: Tz,
    /// Blueprint group = groups of the identity provider.
    #[serde(default)]
    pub groups: BTreeMap<String, Vec<String>>,
    /// Role = groups of the identity provider.
    #[serde(default)]
    pub roles: RoleGroups,
    /// `[tenant.erp]`; without it nothing can be read or written.
    #[serde(default)]
    pub erp: Option<ErpSettings>,
    /// `[tenant.trigger]`; without it no trigger is accepted.
    #[serde(default)]
    pub trigger: Option<TriggerSettings>,
}

impl TenantSettings {
    /// The exact pair.
    pub fn key(&self) -> TenantKey {
        TenantKey { customer: self.customer.clone(), tenant: self.tenant.clone() }
    }
}

/// Who has a role: groups of the identity provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RoleGroups {
    /// Mends stuck runs.
    pub operator: Vec<String>,
    /// Designs blueprints.
    pub admin: Vec<String>,
    /// Reads everything.
    pub auditor: Vec<String>,
}

/// `[tenant.erp]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErpSettings {
    /// GraphQL endpoint.
    pub url: Url,
    /// Bearer token.
    #[serde(default)]
    pub token: Option<Secret>,
    /// Its file.
    #[serde(default)]
    pub token_file: Option<PathBuf>,
    /// Seconds one request may take; default 10.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u64,
    /// Seconds between polls, 0 = off; default 60.
    #[serde(default = "default_poll_s")]
    pub poll_s: u64,
    /// Seconds between recoveries, 0 = off; default 3600.
    #[serde(default = "default_recovery_s")]
    pub recovery_s: u64,
    /// Field of the workflow state; default `fldSel30312`.
    #[serde(default = "default_state_field")]
    pub state_field: String,
    /// Field of the blueprint's name; default `fldSel30313`.
    #[serde(default = "default_blueprint_field")]
    pub blueprint_field: String,
    /// Field of the trigger's GUID, where there is one.
    #[serde(default)]
    pub trigger_guid_field: Option<String>,
    /// Field that says when the state changed; default `fldAendDat`.
    #[serde(default = "default_state_changed_field")]
    pub state_changed_field: String,
    /// External-processing flag; default `fldInExtBeaKz`.
    #[serde(default = "default_external_flag_field")]
    pub external_flag_field: String,
    /// Field of the first note; default `fldInExtBeaInfo`.
    #[serde(default = "default_note_field")]
    pub note_field: String,
    /// `[tenant.erp.states]`: what the state field says.
    #[serde(default)]
    pub states: ErpStateTexts,
}

/// The state field's values (spec 001 §3.2; spec 000 for the poll marker).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ErpStateTexts {
    /// No workflow; default empty.
    pub none: String,
    /// Poll marker; default `Workflow angefordert`.
    pub requested: String,
    /// Default `MT Freigabe gestartet`.
    pub started: String,
    /// Default `in Freigabe`.
    pub running: String,
    /// Default `freigegeben`.
    pub approved: String,
    /// Default `abgelehnt`.
    pub rejected: String,
}

impl Default for ErpStateTexts {
    fn default() -> Self {
        let text = str::to_owned;
        Self {
            none: String::new(),
            requested: text("Workflow angefordert"),
            started: text("MT Freigabe gestartet"),
            running: text("in Freigabe"),
            approved: text("freigegeben"),
            rejected: text("abgelehnt"),
        }
    }
}

/// `[tenant.trigger]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerSettings {
    /// `iss` of the tokens.
    pub issuer: String,
    /// `aud` of the tokens.
    pub audience: String,
    /// The one algorithm that is accepted.
    pub algorithm: TriggerAlgorithm,
    /// Shared secret (HS256).
    #[serde(default)]
    pub secret: Option<Secret>,
    /// Its file.
    #[serde(default)]
    pub secret_file: Option<PathBuf>,
    /// Public key, PEM (RS256, ES256, EdDSA).
    #[serde(default)]
    pub public_key: Option<String>,
    /// Its file.
    #[serde(default)]
    pub public_key_file: Option<PathBuf>,
    /// Where the issuer publishes its keys (RS256, ES256, EdDSA).
    #[serde(default)]
    pub jwks_url: Option<Url>,
    /// SHA-256 of the accepted `X-API-Key`s, hex; empty: none is asked for.
    #[serde(default)]
    pub api_key_hashes: Vec<String>,
    /// Where triggers may come from; empty: from anywhere.
    #[serde(default)]
    pub allowed_ips: Vec<IpRange>,
    /// Seconds a token may be good for; default 86400.
    #[serde(default = "default_max_lifetime_s")]
    pub max_lifetime_s: u64,
}

/// Signature algorithms of trigger tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TriggerAlgorithm {
    /// HMAC with SHA-256.
    HS256,
    /// RSA PKCS #1 v1.5 with SHA-256.
    RS256,
    /// ECDSA on P-256.
    ES256,
    /// Ed25519.
    EdDSA,
}

fn default_time_zone() -> Tz {
    chrono_tz::Europe::Berlin
}

fn default_timeout_s() -> u64 {
    10
}

fn default_poll_s() -> u64 {
    60
}

fn default_recovery_s() -> u64 {
    3_600
}

fn default_state_field() -> String {
    "fldSel30312".to_owned()
}

fn default_blueprint_field() -> String {
    "fldSel30313".to_owned()
}

fn default_state_changed_field() -> String {
    "fldAendDat".to_owned()
}

fn default_external_flag_field() -> String {
    "fldInExtBeaKz".to_owned()
}

fn default_note_field() -> String {
    "fldInExtBeaInfo".to_owned()
}

fn default_max_lifetime_s() -> u64 {
    86_400
}

/// Time zones by their IANA name.
mod time_zone {
    use chrono_tz::Tz;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(zone: &Tz, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(zone.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tz, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|_error| {
            D::Error::custom(format!("`{name}` is not a time zone: write its IANA name, e.g. Europe/Berlin"))
        })
    }
}
