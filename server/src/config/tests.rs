//! Configuration: the documented example, defaults, every refusal, the environment.

#![expect(clippy::unwrap_used, reason = "a test that can't read its own data must fail loudly")]

use std::path::PathBuf;

use super::*;

const BASE: &str = r#"
[oidc]
issuer = "https://idp.example/realms/firma"
client_id = "connectworkflow"
client_secret = "streng geheim"

[[tenant]]
customer = "muster"
tenant = "m1"
groups = { einkauf = ["/firma/einkauf"] }
[tenant.erp]
url = "https://erp.example/graphql"
token = "erp-geheim"
[tenant.trigger]
issuer = "erp-muster"
audience = "connectworkflow"
algorithm = "HS256"
secret = "0123456789abcdef0123456789abcdef"
"#;

fn read(text: &str) -> Result<Settings, ConfigError> {
    Settings::from_toml(text, Path::new(""), &[])
}

fn with_env(pairs: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    let variables: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Settings::from_toml(BASE, Path::new(""), &variables)
}

/// The base with one piece of text replaced must be refused, and the message must say these things.
fn refused(from: &str, to: &str, says: &[&str]) {
    assert!(BASE.contains(from), "{from}");
    let error = read(&BASE.replacen(from, to, 1)).unwrap_err().to_string();
    for part in says {
        assert!(error.contains(part), "{to}: {error}");
    }
}

#[test]
fn the_documented_example_is_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("secrets")).unwrap();
    for name in ["oidc", "erp", "trigger"] {
        std::fs::write(folder.path().join("secrets").join(name), format!("{name}-geheim\n")).unwrap();
    }
    let text = r#"
[server]
address = "127.0.0.1:3000"
external_url = "https://workflow.example"
env = "prod"

[store]
kind = "local"
path = "data"

[oidc]
issuer = "https://idp.example/realms/firma"
client_id = "connectworkflow"
client_secret_file = "secrets/oidc"
groups_claim = "groups"

[[tenant]]
customer = "muster"
tenant = "m1"
time_zone = "Europe/Berlin"
groups = { einkauf = ["/firma/einkauf"], buchhaltung = ["/firma/buchhaltung"] }
roles = { operator = ["/firma/betrieb"] }
[tenant.erp]
url = "https://erp.example/graphql"
token_file = "secrets/erp"
timeout_s = 10
poll_s = 60
recovery_s = 3600
[tenant.trigger]
issuer = "erp-muster"
audience = "connectworkflow"
algorithm = "HS256"
secret_file = "secrets/trigger"
allowed_ips = ["10.0.0.0/8"]
"#;
    let path = folder.path().join("connectworkflow.toml");
    std::fs::write(&path, text).unwrap();
    let settings = Settings::load(Some(&path)).unwrap();
    assert_eq!(settings.oidc.client_secret.as_ref().unwrap().expose(), "oidc-geheim");
    assert_eq!(settings.store.path, folder.path().join("data"), "relative to the file");
    let tenant = settings.tenant(&TenantKey::new("muster", "m1")).unwrap();
    assert_eq!(tenant.erp.as_ref().unwrap().token.as_ref().unwrap().expose(), "erp-geheim");
    assert_eq!(tenant.trigger.as_ref().unwrap().secret.as_ref().unwrap().expose(), "trigger-geheim");
    assert!(tenant.trigger.as_ref().unwrap().allowed_ips[0].contains([10, 1, 1, 1].into()));
    assert_eq!(tenant.roles.operator, ["/firma/betrieb"]);
    assert!(settings.server.is_https());
}

#[test]
fn defaults_are_the_documented_ones() {
    let settings = read(BASE).unwrap();
    assert_eq!(settings.server, ServerSettings::default());
    assert_eq!(settings.server.external_url.as_str(), "http://127.0.0.1:3000/");
    assert_eq!(settings.store.path, PathBuf::from("data"));
    assert_eq!(settings.store.system_bucket, "connectworkflow-system");
    assert_eq!(settings.oidc.groups_claim, "groups");
    let tenant = &settings.tenant[0];
    assert_eq!(tenant.time_zone, chrono_tz::Europe::Berlin);
    let erp = tenant.erp.as_ref().unwrap();
    assert_eq!((erp.timeout_s, erp.poll_s, erp.recovery_s), (10, 60, 3_600));
    assert_eq!((erp.state_field.as_str(), erp.external_flag_field.as_str()), ("fldSel30312", "fldInExtBeaKz"));
    assert_eq!(erp.states.running, "in Freigabe");
    assert_eq!(tenant.trigger.as_ref().unwrap().max_lifetime_s, 86_400);
}

#[test]
fn secrets_never_show() {
    let settings = read(BASE).unwrap();
    let shown = format!("{settings:?}\n{}", settings.masked_toml().unwrap());
    for secret in ["streng geheim", "erp-geheim", "0123456789abcdef"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(shown.contains("client_secret = \"***\""), "{shown}");
    for (from, to) in [
        ("client_secret = \"streng geheim\"", "client_secret = 4711"),
        ("token = \"erp-geheim\"", "token = 4711.5"),
        ("client_secret = \"streng geheim\"", "client_secret = \"4711"),
    ] {
        let error = read(&BASE.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(!error.contains("4711"), "{error}");
    }
}

#[test]
fn what_masked_toml_prints_is_a_configuration() {
    let text = read(BASE).unwrap().masked_toml().unwrap();
    let again = read(&text).unwrap();
    assert_eq!(again.tenant[0].groups, read(BASE).unwrap().tenant[0].groups);
}

#[test]
fn unknown_keys_are_refused_by_name() {
    refused("client_id =", "klient_id =", &["oidc", "klient_id", "client_id"]);
    refused("[tenant.erp]", "[tenant.erp]\ntimeout = 3", &["tenant[0].erp", "timeout", "timeout_s"]);
    refused("[oidc]", "[metrics]\nport = 1\n[oidc]", &["metrics"]);
    refused("groups = {", "roles = { chef = [] }\ngroups = {", &["tenant[0].roles", "chef", "operator"]);
}

#[test]
fn wrong_types_name_key_and_value() {
    refused("token = \"erp-geheim\"", "timeout_s = \"bald\"", &["tenant[0].erp.timeout_s", "bald"]);
    refused("algorithm = \"HS256\"", "algorithm = \"none\"", &["tenant[0].trigger.algorithm", "none", "HS256"]);
    refused("algorithm = \"HS256\"\n", "", &["tenant[0].trigger", "algorithm"]);
    refused("[oidc]", "[server]\naddress = \"localhost\"\n[oidc]", &["server.address"]);
    refused("[oidc]", "[oidc", &["line 2, column"]);
}

#[test]
fn values_that_do_not_fit_say_the_way_out() {
    refused(
        "tenant = \"m1\"",
        "tenant = \"m1\"\ntime_zone = \"Europa/Berlin\"",
        &["time_zone", "Europa/Berlin", "IANA"],
    );
    refused("[oidc]", "[store]\nregion = \"eu\"\n[oidc]", &["store.region", "remove it"]);
    refused("[oidc]", "[server]\nexternal_url = \"https://a.example/app\"\n[oidc]", &["external_url", "host only"]);
    refused("[oidc]", "[server]\nenv = \"Prod!\"\n[oidc]", &["server.env", "Prod!"]);
    refused("https://erp.example/graphql", "ftp://erp.example", &["tenant[0].erp.url", "http"]);
    refused("token = \"erp-geheim\"", "timeout_s = 0", &["timeout_s", "1 to"]);
    refused("tenant = \"m1\"", "tenant = \" \"", &["tenant[0].tenant", "empty"]);
    refused("customer = \"muster\"", "customer = \"mu/ster\"", &["tenant[0]", "mu/ster"]);
    refused("secret = \"0123456789abcdef0123456789abcdef\"", "", &["trigger.secret", "HS256"]);
    refused("algorithm = \"HS256\"", "algorithm = \"EdDSA\"", &["EdDSA", "public key"]);
    refused("algorithm =", "api_key_hashes = [\"geheim\"]\nalgorithm =", &["api_key_hashes", "SHA-256"]);
    refused("algorithm =", "allowed_ips = [\"10.0.0.1/8\"]\nalgorithm =", &["allowed_ips", "10.0.0.0/8"]);
}

#[test]
fn a_tenant_stands_there_once() {
    let twice = format!("{BASE}\n[[tenant]]\ncustomer = \"muster\"\ntenant = \"m1\"\n");
    let error = read(&twice).unwrap_err().to_string();
    assert!(error.contains("tenant[1]") && error.contains("muster / m1") && error.contains("twice"), "{error}");
    let two = format!("{BASE}\n[[tenant]]\ncustomer = \"muster\"\ntenant = \"m2\"\n");
    assert_eq!(read(&two).unwrap().tenant.len(), 2);
}

#[test]
fn the_environment_overrides_the_file() {
    let settings = with_env(&[
        ("CONNECTWORKFLOW__STORE__PATH", "/srv/daten"),
        ("CONNECTWORKFLOW__OIDC__CLIENT_SECRET", "12345"),
        ("CONNECTWORKFLOW__OIDC__SCOPES", "profile, email,groups"),
        ("CONNECTWORKFLOW__TENANT__0__ERP__POLL_S", "0"),
        ("CONNECTWORKFLOW__TENANT__0__GROUPS__EINKAUF", "[\"/a, b\", \"/c\"]"),
        ("CONNECTWORKFLOW__TENANT__1__CUSTOMER", "nord"),
        ("CONNECTWORKFLOW__TENANT__1__TENANT", "a"),
        ("CONNECTWORKFLOW_OTHER", "not ours"),
    ])
    .unwrap();
    assert_eq!(settings.store.path, PathBuf::from("/srv/daten"));
    assert_eq!(settings.oidc.client_secret.unwrap().expose(), "12345", "digits stay a secret");
    assert_eq!(settings.oidc.scopes, ["profile", "email", "groups"]);
    assert_eq!(settings.tenant[0].erp.as_ref().unwrap().poll_s, 0);
    assert_eq!(settings.tenant[0].groups["einkauf"], ["/a, b", "/c"]);
    assert_eq!(settings.tenant[1].key(), TenantKey::new("nord", "a"));
}

#[test]
fn a_secret_and_its_file_replace_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("geheim");
    std::fs::write(&file, "aus der Datei\r\n").unwrap();
    let path = file.to_str().unwrap();
    let settings = with_env(&[("CONNECTWORKFLOW__OIDC__CLIENT_SECRET_FILE", path)]).unwrap();
    assert_eq!(settings.oidc.client_secret.unwrap().expose(), "aus der Datei");
    let error = with_env(&[
        ("CONNECTWORKFLOW__OIDC__CLIENT_SECRET_FILE", path),
        ("CONNECTWORKFLOW__OIDC__CLIENT_SECRET", "auch"),
    ]);
    assert!(error.unwrap_err().to_string().contains("one of the two"));
    refused("token = \"erp-geheim\"", "token = \"a\"\ntoken_file = \"b\"", &["tenant[0].erp.token", "both set"]);
    refused("token = \"erp-geheim\"", "token_file = \"/nowhere/at-all\"", &["token_file", "/nowhere/at-all"]);
    std::fs::write(&file, "\n").unwrap();
    let error = with_env(&[("CONNECTWORKFLOW__OIDC__CLIENT_SECRET_FILE", path)]).unwrap_err().to_string();
    assert!(error.contains("empty"), "{error}");
}

#[test]
fn bad_variables_are_refused_by_name() {
    for (name, value, says) in [
        ("CONNECTWORKFLOW__STORE", "x", "SECTION__KEY"),
        ("CONNECTWORKFLOW__STORE__PFAD", "x", "pfad"),
        ("CONNECTWORKFLOW__TENANT__ERSTER__CUSTOMER", "x", "erster"),
        ("CONNECTWORKFLOW__TENANT__7__CUSTOMER", "x", "no tenant 7"),
        ("CONNECTWORKFLOW__TENANT__0__ERP__POLL_S", "oft", "oft"),
        ("CONNECTWORKFLOW__STORE__PATH_STYLE", "ja", "true nor false"),
        ("CONNECTWORKFLOW__OIDC__ISSUER__X", "x", "not a section"),
    ] {
        let error = with_env(&[(name, value)]).unwrap_err().to_string();
        assert!(error.contains(says), "{name}: {error}");
    }
}

#[test]
fn weak_choices_are_named() {
    let weak = BASE.replace("0123456789abcdef0123456789abcdef", "kurz");
    let warnings = read(&weak).unwrap().warnings();
    assert!(warnings.iter().any(|text| text.contains("trigger.secret has 4 bytes")), "{warnings:?}");
    assert!(read(BASE).unwrap().warnings().is_empty(), "{:?}", read(BASE).unwrap().warnings());
}

const S3: &str = "[store]\nkind = \"s3\"\nendpoint = \"https://s3.example\"\n";

fn with_s3(more: &str) -> Result<Settings, ConfigError> {
    read(&format!("{S3}{more}{BASE}"))
}

#[test]
fn an_s3_store_has_defaults() {
    let store = with_s3("").unwrap().store;
    assert_eq!((store.s3_region(), store.s3_path_style(), store.s3_timeouts_s()), ("us-east-1", true, (3, 15, 30)));
    let aws = read(&format!("[store]\nkind = \"s3\"\nregion = \"eu-central-1\"\n{BASE}")).unwrap().store;
    assert_eq!((aws.s3_region(), aws.s3_path_style()), ("eu-central-1", false));
}

#[test]
fn an_s3_store_is_read_from_the_environment_and_secret_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "sehr geheim\n").unwrap();
    let settings = with_env(&[
        ("CONNECTWORKFLOW__STORE__KIND", "s3"),
        ("CONNECTWORKFLOW__STORE__ENDPOINT", "http://127.0.0.1:9000"),
        ("CONNECTWORKFLOW__STORE__REGION", "eu"),
        ("CONNECTWORKFLOW__STORE__PATH_STYLE", "false"),
        ("CONNECTWORKFLOW__STORE__CHECKSUM", "when_required"),
        ("CONNECTWORKFLOW__STORE__ACCESS_KEY_ID", "0123"),
        ("CONNECTWORKFLOW__STORE__SECRET_ACCESS_KEY_FILE", file.to_str().unwrap()),
        ("CONNECTWORKFLOW__STORE__SESSION_TOKEN", "sitzung"),
        ("CONNECTWORKFLOW__STORE__CONNECT_TIMEOUT_S", "1"),
        ("CONNECTWORKFLOW__STORE__ATTEMPT_TIMEOUT_S", "2"),
        ("CONNECTWORKFLOW__STORE__OPERATION_TIMEOUT_S", "3"),
    ])
    .unwrap();
    let shown = settings.masked_toml().unwrap();
    for secret in ["0123\"", "sehr geheim", "sitzung"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    let store = settings.store;
    assert_eq!(store.kind, StoreKind::S3);
    assert_eq!((store.s3_path_style(), store.s3_timeouts_s()), (false, (1, 2, 3)));
    assert_eq!(store.checksum, Some(Checksum::WhenRequired));
    assert_eq!(store.secret_access_key.unwrap().expose(), "sehr geheim");
    assert_eq!(store.session_token.unwrap().expose(), "sitzung");
}

#[test]
fn an_s3_store_that_can_not_work_is_refused() {
    let says = |more: &str, parts: &[&str]| {
        let error = with_s3(more).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{more}: {error}");
        assert!(!error.contains("geheim"), "{more}: {error}");
    };
    says("access_key_id = \"a\"\n", &["store.secret_access_key", "both"]);
    says("secret_access_key = \"geheim\"\n", &["store.access_key_id", "both"]);
    says("session_token = \"geheim\"\n", &["store.access_key_id", "both"]);
    says("access_key_id = \"\"\n", &["store.access_key_id", "empty"]);
    says("attempt_timeout_s = 60\n", &["60", "attempt_timeout_s <= operation_timeout_s"]);
    says("connect_timeout_s = 0\n", &["at least 1"]);
    says("checksum = \"never\"\n", &["store.checksum", "when_required"]);
    let no_region = read(&format!("[store]\nkind = \"s3\"\n{BASE}")).unwrap_err().to_string();
    assert!(no_region.contains("store.region"), "{no_region}");
    for bad in ["https://ich:geheim@s3.example", "ftp://s3.example", "https://s3.example/?a"] {
        let text = format!("[store]\nkind = \"s3\"\nendpoint = \"{bad}\"\n{BASE}");
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains("store.endpoint") && !error.contains("geheim"), "{error}");
    }
    refused("[oidc]", "[store]\nsession_token_file = \"a\"\n[oidc]", &["store.session_token_file", "remove it"]);
}

#[test]
fn numbers_and_lists_of_the_server_come_from_the_environment_too() {
    let settings = with_env(&[
        ("CONNECTWORKFLOW__SERVER__TRIGGERS_PER_MINUTE", "100"),
        ("CONNECTWORKFLOW__SERVER__TRUSTED_PROXIES", "10.0.0.0/8, 192.168.1.1"),
    ])
    .unwrap();
    assert_eq!(settings.server.triggers_per_minute, 100);
    assert_eq!(settings.server.trusted_proxies.len(), 2);
}
