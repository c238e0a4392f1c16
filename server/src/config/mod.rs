//! Configuration: one TOML file, every key also as environment variable, every secret also from a file (DESIGN §8).
//!
//! Purpose: plain data with its defaults, read once at the start.
//! Invariant: what [`Settings::load`] returns is complete and consistent: secrets are read, time zones, addresses and keys
//! exist, no tenant stands there twice, no key is unknown.
//! Never: a component, a connection, a secret in a message.

mod check;
mod env;
mod error;
mod ip_range;
mod model;
mod secret;

use std::path::Path;

pub use error::ConfigError;
pub use ip_range::{IpRange, IpRangeError};
pub use model::{
    Checksum, ErpSettings, ErpStateTexts, OidcSettings, RoleGroups, ServerSettings, Settings, StoreKind, StoreSettings,
    TenantSettings, TriggerAlgorithm, TriggerSettings,
};
pub use secret::Secret;

use vocab::TenantKey;

/// Bytes a configuration file may have.
pub const CONFIG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Tenants one server may have.
pub const TENANTS_MAX: usize = 10_000;

impl Settings {
    /// Reads the file, where one is named, and the environment over it.
    ///
    /// Relative paths in the file are relative to the file's folder, those in the environment to the working directory.
    ///
    /// # Errors
    /// [`ConfigError`] names key, value and way out.
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let variables = env::variables()?;
        let Some(path) = path else {
            return Self::from_toml("", Path::new(""), &variables);
        };
        let fail = |reason: String| ConfigError::Read { path: path.display().to_string(), reason };
        let size = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
        if size > CONFIG_BYTES_MAX {
            return Err(fail(format!("{size} bytes, at most {CONFIG_BYTES_MAX} are read")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        Self::from_toml(&text, path.parent().unwrap_or(Path::new("")), &variables)
    }

    /// The same from text and given variables (`CONNECTWORKFLOW__…` and their values; others are not looked at).
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn from_toml(text: &str, folder: &Path, variables: &[(String, String)]) -> Result<Self, ConfigError> {
        let mut table: toml::Table = text.parse().map_err(|error| ConfigError::syntax(text, &error))?;
        env::anchor_paths(&mut table, folder);
        env::overlay(&mut table, variables)?;
        let mut settings: Self = serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(|error| {
            let path = error.path().to_string();
            ConfigError::Key {
                key: if path == "." { "(top level)".to_owned() } else { path },
                reason: error.into_inner().message().to_owned(),
            }
        })?;
        check::finish(&mut settings)?;
        Ok(settings)
    }

    /// What is in force, as TOML, secrets masked; for `serve --check`.
    ///
    /// # Errors
    /// Where the settings hold something TOML can't say, which [`Settings::load`] never returns.
    pub fn masked_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string_pretty(self)
    }

    /// What is allowed and unwise, one sentence each; for the log at the start and `serve --check`.
    pub fn warnings(&self) -> Vec<String> {
        check::warnings(self)
    }

    /// A tenant's settings.
    pub fn tenant(&self, key: &TenantKey) -> Option<&TenantSettings> {
        self.tenant.iter().find(|tenant| tenant.customer == key.customer && tenant.tenant == key.tenant)
    }
}

#[cfg(test)]
mod tests;
