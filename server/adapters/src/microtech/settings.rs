//! One tenant's ERP: where it is, which token opens it, which of its fields carry the workflow's states.
//!
//! Invariant: settings that reached [`ErpSettings::check`] hold only names that are safe to put into a query.
//! Never: shows the token.

use std::collections::BTreeMap;
use std::fmt;

use ports::vocab::{FieldName, TenantKey};

/// Seconds one request to the ERP may take, unless configured.
pub const TIMEOUT_S_DEFAULT: u64 = 10;
/// Seconds one request may be configured to take.
pub const TIMEOUT_S_MAX: u64 = 120;

/// A text that never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The texts of the state field (spec 001 §3.2; the poll marker is spec 000's).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateValues {
    /// No workflow.
    pub none: String,
    /// The poll marker.
    pub requested: String,
    /// A trigger was sent.
    pub started: String,
    /// A run is active.
    pub running: String,
    /// Ended well.
    pub released: String,
    /// Ended badly.
    pub rejected: String,
}

impl Default for StateValues {
    fn default() -> Self {
        Self {
            none: "none".into(),
            requested: "Workflow angefordert".into(),
            started: "MT Freigabe gestartet".into(),
            running: "in Freigabe".into(),
            released: "freigegeben".into(),
            rejected: "abgelehnt".into(),
        }
    }
}

/// How a table's rows are found by their key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyAccess {
    /// Index in `exactMatch`, e.g. `byBelegNr`.
    pub index: String,
    /// Its first segment, also `rowModify`'s argument, e.g. `kf1BelegNr`.
    pub argument: String,
}

impl KeyAccess {
    /// As microtech names them: `fldBelegNr` is found by `byBelegNr` with `kf1BelegNr`.
    pub fn of_key(key: &FieldName) -> Self {
        let base = key.as_str().strip_prefix("fld").unwrap_or(key.as_str());
        Self { index: format!("by{base}"), argument: format!("kf1{base}") }
    }
}

/// One tenant's ERP (DESIGN §6; the `fldSel…` numbers are the customer's own).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErpSettings {
    /// GraphQL endpoint.
    pub url: String,
    /// Bearer token.
    pub token: Secret,
    /// Seconds one request may take.
    pub timeout_s: u64,
    /// Field that holds the workflow state.
    pub state_field: FieldName,
    /// Field that names the blueprint for polled starts.
    pub blueprint_field: FieldName,
    /// Field with the trigger definition's GUID, for recovery.
    pub trigger_guid_field: FieldName,
    /// Field that says when the state was set, for recovery.
    pub state_changed_field: FieldName,
    /// External-processing flag.
    pub external_flag_field: FieldName,
    /// First note.
    pub note_field: FieldName,
    /// Row version that fences writes.
    pub lsn_field: FieldName,
    /// Texts of the state field.
    pub states: StateValues,
    /// Tables whose key index isn't named by [`KeyAccess::of_key`]'s rule.
    pub key_access: BTreeMap<String, KeyAccess>,
}

impl ErpSettings {
    /// DESIGN §6's defaults for everything but address and token.
    pub fn new(url: impl Into<String>, token: Secret) -> Self {
        Self {
            url: url.into(),
            token,
            timeout_s: TIMEOUT_S_DEFAULT,
            state_field: "fldSel30312".into(),
            blueprint_field: "fldSel30313".into(),
            trigger_guid_field: "fldSel30314".into(),
            state_changed_field: "fldAendDat".into(),
            external_flag_field: "fldInExtBeaKz".into(),
            note_field: "fldInExtBeaInfo".into(),
            lsn_field: "fldModifyLSN".into(),
            states: StateValues::default(),
            key_access: BTreeMap::new(),
        }
    }

    /// How rows of this table are found.
    pub(super) fn access(&self, table: &str, key: &FieldName) -> KeyAccess {
        self.key_access.get(table).cloned().unwrap_or_else(|| KeyAccess::of_key(key))
    }

    /// Refuses what could never work or would let a setting write into the query.
    pub(super) fn check(&self, tenant: &TenantKey) -> Result<reqwest::Url, SettingsError> {
        let bad_url = |reason: String| SettingsError::Url { tenant: tenant.to_string(), reason };
        let url = reqwest::Url::parse(&self.url).map_err(|error| bad_url(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad_url(format!("scheme {} is neither http nor https", url.scheme())));
        }
        if url.host_str().is_none() {
            return Err(bad_url("it names no host".into()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad_url("it holds a user or password; use the token".into()));
        }
        if !(1..=TIMEOUT_S_MAX).contains(&self.timeout_s) {
            return Err(SettingsError::Timeout { tenant: tenant.to_string(), timeout_s: self.timeout_s });
        }
        self.check_names(tenant)?;
        Ok(url)
    }

    fn check_names(&self, tenant: &TenantKey) -> Result<(), SettingsError> {
        let fields = [
            ("state_field", &self.state_field),
            ("blueprint_field", &self.blueprint_field),
            ("trigger_guid_field", &self.trigger_guid_field),
            ("state_changed_field", &self.state_changed_field),
            ("external_flag_field", &self.external_flag_field),
            ("note_field", &self.note_field),
            ("lsn_field", &self.lsn_field),
        ];
        let access = self.key_access.values().flat_map(|access| [&access.index, &access.argument]);
        let names = fields
            .into_iter()
            .map(|(setting, name)| (setting, name.as_str()))
            .chain(self.key_access.keys().map(|table| ("key_access", table.as_str())))
            .chain(access.map(|name| ("key_access", name.as_str())));
        for (setting, name) in names {
            if !is_graphql_name(name) {
                return Err(SettingsError::Name { tenant: tenant.to_string(), setting, name: name.to_owned() });
            }
        }
        Ok(())
    }
}

/// Whether the text is a GraphQL name that a schema may define: letters, digits and `_`, no leading digit, no leading
/// `__` (introspection).
pub(super) fn is_graphql_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !name.starts_with("__")
}

/// Why an ERP can't be spoken to as configured.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The address.
    #[error("erp.url of {tenant} can't be used: {reason}")]
    Url {
        /// Whose.
        tenant: String,
        /// Why.
        reason: String,
    },
    /// The time limit.
    #[error("erp.timeout_s of {tenant} is {timeout_s}; it must be 1 to {TIMEOUT_S_MAX} seconds")]
    Timeout {
        /// Whose.
        tenant: String,
        /// What it says.
        timeout_s: u64,
    },
    /// A name.
    #[error("erp.{setting} of {tenant} is {name:?}, which is no field name (letters, digits and _)")]
    Name {
        /// Whose.
        tenant: String,
        /// Which setting.
        setting: &'static str,
        /// What it says.
        name: String,
    },
    /// The token.
    #[error("erp.token of {tenant} is empty or holds characters that an HTTP header can't carry")]
    Token {
        /// Whose.
        tenant: String,
    },
    /// The HTTP client could not be made.
    #[error("the HTTP client could not be set up: {reason}")]
    Client {
        /// Why.
        reason: String,
    },
}
