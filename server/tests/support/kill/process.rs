//! The real binary as a process of its own, to be killed and started again.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::outside::{CUSTOMER, ERP_TOKEN, OIDC_SECRET, Outside, TENANT, TRIGGER_SECRET};

/// Time a start may take before the test gives up on it.
const START_PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Process {
    config: PathBuf,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// Writes the configuration; `store` is its section `[store]`.
    pub(crate) fn new(folder: &Path, outside: &Outside, store: &str) -> Self {
        let config = folder.join("connectworkflow.toml");
        let address = outside.app.strip_prefix("http://").unwrap();
        let text = format!(
            r#"
[server]
address = "{address}"
external_url = "{app}"
env = "kill"
{store}
[oidc]
issuer = "{idp}"
client_id = "connectworkflow"
client_secret = "{OIDC_SECRET}"
[[tenant]]
customer = "{CUSTOMER}"
tenant = "{TENANT}"
groups = {{ einkauf = ["/muster/einkauf"], buchhaltung = ["/muster/buchhaltung"] }}
[tenant.erp]
url = "{erp}/{CUSTOMER}/{TENANT}/graphql"
token = "{ERP_TOKEN}"
poll_s = 0
recovery_s = 0
trigger_guid_field = "fldSel30314"
[tenant.erp.states]
none = "none"
[tenant.trigger]
issuer = "erp-muster"
audience = "connectworkflow"
algorithm = "HS256"
secret = "{TRIGGER_SECRET}"
"#,
            app = outside.app,
            idp = outside.idp,
            erp = outside.erp,
        );
        std::fs::write(&config, text).unwrap();
        Self { config, log: folder.join("server.log"), child: None }
    }

    pub(crate) fn config(&self) -> &Path {
        &self.config
    }

    /// Starts it and waits until it listens.
    pub(crate) async fn start(&mut self) {
        let log: File = OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_connectworkflow"))
            .args(["serve", "--config"])
            .arg(&self.config)
            .env("RUST_LOG", "warn")
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line.starts_with("ready ") {
                    return true;
                }
            }
            false
        };
        let ready = tokio::time::timeout(START_PATIENCE, ready).await;
        assert_eq!(ready, Ok(true), "the server must start after a kill:\n{}", self.log());
        self.child = Some(child);
    }

    /// SIGKILL.
    pub(crate) async fn kill(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }

    /// The end of what it said, over all its lives.
    pub(crate) fn log(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}
