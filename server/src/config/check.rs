//! What types alone can't say: secrets are read, values fit together.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use openidconnect::url::Url;
use ports::BucketName;

use super::{
    ConfigError, ErpSettings, OidcSettings, Secret, ServerSettings, Settings, StoreKind, StoreSettings, TENANTS_MAX,
    TenantSettings, TriggerAlgorithm, TriggerSettings,
};

/// Bytes a secret's or key's file may have.
const SECRET_BYTES_MAX: u64 = 64 * 1024;
/// Characters of customer, tenant and group names.
const NAME_CHARS_MAX: usize = 200;
/// Bytes below which a shared secret is weaker than its algorithm (RFC 7518 §3.2).
const HMAC_SECRET_BYTES_SAFE: usize = 32;
/// Seconds an ERP request may be given.
const ERP_TIMEOUT_S_MAX: u64 = 300;
/// Seconds an S3 request may be given.
const S3_TIMEOUT_S_MAX: u64 = 3_600;
/// Seconds of the longest interval (31 days).
const INTERVAL_S_MAX: u64 = 31 * 86_400;

/// Reads the secrets and checks the rest.
pub(super) fn finish(settings: &mut Settings) -> Result<(), ConfigError> {
    server(&settings.server)?;
    store(&mut settings.store)?;
    oidc(&mut settings.oidc)?;
    if settings.tenant.len() > TENANTS_MAX {
        let count = settings.tenant.len().to_string();
        return Err(ConfigError::value("tenant", count, format!("at most {TENANTS_MAX} tenants fit one server")));
    }
    let mut seen = BTreeSet::new();
    let env = settings.server.env.clone();
    for (index, tenant) in settings.tenant.iter_mut().enumerate() {
        let at = format!("tenant[{index}]");
        self::tenant(&at, tenant, &env)?;
        if !seen.insert(tenant.key()) {
            let reason = "customer and tenant stand there twice: remove one of the two";
            return Err(ConfigError::value(at, tenant.key().to_string(), reason));
        }
    }
    Ok(())
}

/// What is allowed and unwise.
pub(super) fn warnings(settings: &Settings) -> Vec<String> {
    let mut found = Vec::new();
    if !settings.server.is_https() && !is_loopback(&settings.server.external_url) {
        found.push(format!(
            "server.external_url {}: without https anybody on the way reads the session cookie",
            settings.server.external_url
        ));
    }
    if settings.store.endpoint.as_ref().is_some_and(|url| url.scheme() == "http" && !is_loopback(url)) {
        found.push("store.endpoint: without https anybody on the way reads what is stored".to_owned());
    }
    if settings.oidc.client_secret.is_none() {
        found.push(
            "oidc.client_secret is not set: the identity provider can't tell this server from another".to_owned(),
        );
    }
    for tenant in &settings.tenant {
        let name = tenant.key();
        match &tenant.erp {
            None => found.push(format!("tenant {name} has no [tenant.erp]: its objects can't be read or written")),
            Some(erp) if erp.token.is_none() => {
                found.push(format!("tenant {name} has no erp.token: the ERP is asked without one"));
            }
            Some(_) => {}
        }
        match &tenant.trigger {
            None => found.push(format!("tenant {name} has no [tenant.trigger]: it takes no triggers")),
            Some(trigger) => {
                let bytes = trigger.secret.as_ref().map_or(usize::MAX, |secret| secret.expose().len());
                if bytes < HMAC_SECRET_BYTES_SAFE {
                    found.push(format!("tenant {name}: trigger.secret has {bytes} bytes, {HMAC_SECRET_BYTES_SAFE} are the least that is safe"));
                }
            }
        }
        if tenant.groups.is_empty() {
            found.push(format!("tenant {name} has no groups: nobody will see its tasks"));
        }
    }
    found
}

fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"))
}

fn server(server: &ServerSettings) -> Result<(), ConfigError> {
    let url = &server.external_url;
    web_address("server.external_url", url)?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() || !url.username().is_empty() {
        let reason = "scheme and host only, e.g. https://workflow.example";
        return Err(ConfigError::value("server.external_url", url.as_str(), reason));
    }
    if server.env.is_empty() || !server.env.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return Err(ConfigError::value("server.env", &server.env, "a-z and 0-9 only, e.g. prod, test"));
    }
    Ok(())
}

fn store(store: &mut StoreSettings) -> Result<(), ConfigError> {
    match store.kind {
        StoreKind::S3 => s3(store)?,
        StoreKind::Local => {
            let foreign = [
                ("store.endpoint", store.endpoint.is_some()),
                ("store.region", store.region.is_some()),
                ("store.path_style", store.path_style.is_some()),
                ("store.checksum", store.checksum.is_some()),
                ("store.access_key_id", store.access_key_id.is_some()),
                ("store.access_key_id_file", store.access_key_id_file.is_some()),
                ("store.secret_access_key", store.secret_access_key.is_some()),
                ("store.secret_access_key_file", store.secret_access_key_file.is_some()),
                ("store.session_token", store.session_token.is_some()),
                ("store.session_token_file", store.session_token_file.is_some()),
                ("store.connect_timeout_s", store.connect_timeout_s.is_some()),
                ("store.attempt_timeout_s", store.attempt_timeout_s.is_some()),
                ("store.operation_timeout_s", store.operation_timeout_s.is_some()),
            ];
            if let Some((key, _)) = foreign.into_iter().find(|(_, given)| *given) {
                return Err(ConfigError::key(key, "belongs to kind = \"s3\", the store is \"local\": remove it"));
            }
        }
    }
    if store.path.as_os_str().is_empty() {
        return Err(ConfigError::value("store.path", "", "name the folder of the store"));
    }
    BucketName::configured(&store.system_bucket)
        .map(|_name| ())
        .map_err(|error| ConfigError::value("store.system_bucket", &store.system_bucket, error.to_string()))
}

fn s3(store: &mut StoreSettings) -> Result<(), ConfigError> {
    if let Some(url) = &store.endpoint {
        if !url.username().is_empty() || url.password().is_some() {
            // The address is not repeated: it holds a password.
            return Err(ConfigError::key(
                "store.endpoint",
                "holds a user or password: write them as store.access_key_id and store.secret_access_key",
            ));
        }
        web_address("store.endpoint", url)?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(ConfigError::value("store.endpoint", url.as_str(), "must have no `?` and no `#`"));
        }
    }
    match store.region.as_deref() {
        Some("") => return Err(ConfigError::value("store.region", "", "name the region or remove the key")),
        None if store.endpoint.is_none() => {
            let reason = "name the bucket's region, e.g. eu-central-1, or the store.endpoint of another server";
            return Err(ConfigError::key("store.region", reason));
        }
        Some(_) | None => {}
    }
    let (id, secret_file) = (store.access_key_id_file.clone(), store.secret_access_key_file.clone());
    secret("store.access_key_id", &mut store.access_key_id, id.as_deref())?;
    secret("store.secret_access_key", &mut store.secret_access_key, secret_file.as_deref())?;
    let token = store.session_token_file.clone();
    secret("store.session_token", &mut store.session_token, token.as_deref())?;
    match (&store.access_key_id, &store.secret_access_key, &store.session_token) {
        (Some(_), Some(_), _) | (None, None, None) => {}
        (None, _, _) => return Err(ConfigError::key("store.access_key_id", "is missing: set both keys, or neither")),
        (_, None, _) => {
            return Err(ConfigError::key("store.secret_access_key", "is missing: set both keys, or neither"));
        }
    }
    let (connect, attempt, operation) = store.s3_timeouts_s();
    if connect == 0 || connect > attempt || attempt > operation || operation > S3_TIMEOUT_S_MAX {
        let reason = format!(
            "must be at least 1 and rise: connect_timeout_s <= attempt_timeout_s <= operation_timeout_s <= {S3_TIMEOUT_S_MAX}"
        );
        return Err(ConfigError::value("store.…_timeout_s", format!("{connect}, {attempt}, {operation}"), reason));
    }
    Ok(())
}

fn oidc(oidc: &mut OidcSettings) -> Result<(), ConfigError> {
    let issuer = Url::parse(&oidc.issuer)
        .map_err(|error| ConfigError::value("oidc.issuer", &oidc.issuer, format!("not an address: {error}")))?;
    web_address("oidc.issuer", &issuer)?;
    for (key, text) in [("oidc.client_id", &oidc.client_id), ("oidc.groups_claim", &oidc.groups_claim)] {
        if text.trim().is_empty() {
            return Err(ConfigError::value(key, text, "must not be empty"));
        }
    }
    if let Some(scope) = oidc.scopes.iter().find(|scope| scope.is_empty() || scope.contains(char::is_whitespace)) {
        return Err(ConfigError::value("oidc.scopes", scope, "one scope per entry, without spaces"));
    }
    secret("oidc.client_secret", &mut oidc.client_secret, oidc.client_secret_file.as_deref())
}

fn tenant(at: &str, tenant: &mut TenantSettings, env: &str) -> Result<(), ConfigError> {
    for (key, text) in [("customer", tenant.customer.as_str()), ("tenant", tenant.tenant.as_str())] {
        name(&format!("{at}.{key}"), text)?;
    }
    BucketName::of_tenant(&tenant.key(), env)
        .map_err(|error| ConfigError::value(at, tenant.key().to_string(), error.to_string()))?;
    let roles =
        [("operator", &tenant.roles.operator), ("admin", &tenant.roles.admin), ("auditor", &tenant.roles.auditor)];
    for (group, idp_groups) in &tenant.groups {
        name(&format!("{at}.groups"), group)?;
        for idp_group in idp_groups {
            name(&format!("{at}.groups.{group}"), idp_group)?;
        }
    }
    for (role, idp_groups) in roles {
        for idp_group in idp_groups {
            name(&format!("{at}.roles.{role}"), idp_group)?;
        }
    }
    if let Some(erp) = &mut tenant.erp {
        self::erp(&format!("{at}.erp"), erp)?;
    }
    if let Some(trigger) = &mut tenant.trigger {
        self::trigger(&format!("{at}.trigger"), trigger)?;
    }
    Ok(())
}

fn erp(at: &str, erp: &mut ErpSettings) -> Result<(), ConfigError> {
    web_address(&format!("{at}.url"), &erp.url)?;
    if erp.timeout_s == 0 || erp.timeout_s > ERP_TIMEOUT_S_MAX {
        let reason = format!("seconds from 1 to {ERP_TIMEOUT_S_MAX}");
        return Err(ConfigError::value(format!("{at}.timeout_s"), erp.timeout_s.to_string(), reason));
    }
    for (key, seconds) in [("poll_s", erp.poll_s), ("recovery_s", erp.recovery_s)] {
        if seconds > INTERVAL_S_MAX {
            let reason = format!("seconds from 0 (off) to {INTERVAL_S_MAX}");
            return Err(ConfigError::value(format!("{at}.{key}"), seconds.to_string(), reason));
        }
    }
    let fields = [
        ("state_field", Some(&erp.state_field)),
        ("blueprint_field", Some(&erp.blueprint_field)),
        ("trigger_guid_field", erp.trigger_guid_field.as_ref()),
        ("state_changed_field", Some(&erp.state_changed_field)),
        ("external_flag_field", Some(&erp.external_flag_field)),
        ("note_field", Some(&erp.note_field)),
    ];
    for (key, field) in fields.into_iter().filter_map(|(key, field)| field.map(|field| (key, field))) {
        let first = field.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        if !first || !field.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Err(ConfigError::value(format!("{at}.{key}"), field, "not a field's name, e.g. fldSel30312"));
        }
    }
    secret(&format!("{at}.token"), &mut erp.token, erp.token_file.as_deref())
}

fn trigger(at: &str, trigger: &mut TriggerSettings) -> Result<(), ConfigError> {
    for (key, text) in [("issuer", &trigger.issuer), ("audience", &trigger.audience)] {
        if text.is_empty() {
            return Err(ConfigError::value(format!("{at}.{key}"), "", "must not be empty"));
        }
    }
    secret(&format!("{at}.secret"), &mut trigger.secret, trigger.secret_file.as_deref())?;
    public_key(at, trigger)?;
    let has_public = trigger.public_key.is_some() || trigger.jwks_url.is_some();
    match trigger.algorithm {
        TriggerAlgorithm::HS256 => {
            if trigger.secret.is_none() {
                return Err(ConfigError::key(
                    format!("{at}.secret"),
                    "HS256 needs a shared secret: set secret or secret_file",
                ));
            }
            if has_public {
                let reason = "HS256 uses a shared secret: remove public_key, public_key_file and jwks_url";
                return Err(ConfigError::value(format!("{at}.algorithm"), "HS256", reason));
            }
        }
        TriggerAlgorithm::RS256 | TriggerAlgorithm::ES256 | TriggerAlgorithm::EdDSA => {
            let algorithm = format!("{:?}", trigger.algorithm);
            if trigger.secret.is_some() {
                let reason = "uses a public key: remove secret and secret_file";
                return Err(ConfigError::value(format!("{at}.algorithm"), algorithm, reason));
            }
            if trigger.public_key.is_some() == trigger.jwks_url.is_some() {
                let reason = "needs exactly one of public_key_file and jwks_url";
                return Err(ConfigError::value(format!("{at}.algorithm"), algorithm, reason));
            }
        }
    }
    if let Some(url) = &trigger.jwks_url {
        web_address(&format!("{at}.jwks_url"), url)?;
    }
    for hash in &mut trigger.api_key_hashes {
        if hash.len() != 64 || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
            let reason = "not a SHA-256 in hex (64 characters): hash the key, don't write it here";
            return Err(ConfigError::key(format!("{at}.api_key_hashes"), reason));
        }
        hash.make_ascii_lowercase();
    }
    if trigger.max_lifetime_s == 0 || trigger.max_lifetime_s > INTERVAL_S_MAX {
        let reason = format!("seconds from 1 to {INTERVAL_S_MAX}");
        return Err(ConfigError::value(format!("{at}.max_lifetime_s"), trigger.max_lifetime_s.to_string(), reason));
    }
    Ok(())
}

fn public_key(at: &str, trigger: &mut TriggerSettings) -> Result<(), ConfigError> {
    let key = format!("{at}.public_key");
    match (&trigger.public_key, &trigger.public_key_file) {
        (Some(_), Some(_)) => Err(both(&key)),
        (_, None) => Ok(()),
        (None, Some(path)) => {
            trigger.public_key = Some(read(&format!("{key}_file"), path)?);
            Ok(())
        }
    }
}

/// Reads a secret's file, where it has one.
fn secret(key: &str, secret: &mut Option<Secret>, file: Option<&Path>) -> Result<(), ConfigError> {
    match (&*secret, file) {
        (Some(_), Some(_)) => return Err(both(key)),
        (Some(_) | None, None) => {}
        (None, Some(path)) => *secret = Some(Secret::new(read(&format!("{key}_file"), path)?)),
    }
    match secret {
        Some(secret) if secret.expose().is_empty() => {
            Err(ConfigError::key(key, "the secret is empty: set it or remove the key"))
        }
        Some(_) | None => Ok(()),
    }
}

fn both(key: &str) -> ConfigError {
    ConfigError::key(key, format!("`{key}` and `{key}_file` are both set: keep one of the two"))
}

/// The file's text without the line end an editor adds.
fn read(key: &str, path: &Path) -> Result<String, ConfigError> {
    let fail = |reason: String| ConfigError::File {
        key: key.to_owned(),
        path: PathBuf::from(path).display().to_string(),
        reason,
    };
    let size = std::fs::metadata(path).map_err(|error| fail(error.to_string()))?.len();
    if size > SECRET_BYTES_MAX {
        return Err(fail(format!("{size} bytes, at most {SECRET_BYTES_MAX} are read")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(fail("the file is empty".to_owned()));
    }
    Ok(text.to_owned())
}

fn web_address(key: &str, url: &Url) -> Result<(), ConfigError> {
    let is_web = url.scheme() == "http" || url.scheme() == "https";
    if is_web && url.has_host() {
        Ok(())
    } else {
        Err(ConfigError::value(key, url.as_str(), "must begin with http:// or https://"))
    }
}

fn name(key: &str, text: &str) -> Result<(), ConfigError> {
    let chars = text.chars().count();
    if text.trim().is_empty() {
        return Err(ConfigError::value(key, text, "must not be empty"));
    }
    if chars > NAME_CHARS_MAX {
        return Err(ConfigError::value(
            key,
            text,
            format!("{chars} characters, at most {NAME_CHARS_MAX} are possible"),
        ));
    }
    if text.chars().any(char::is_control) || text.trim() != text {
        return Err(ConfigError::value(key, text, "has spaces at its ends or control characters: remove them"));
    }
    Ok(())
}
