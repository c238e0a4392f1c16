//! `connectworkflow demo`: one process with the server, a simulated ERP and a demo identity provider.
//!
//! Invariant: the app itself runs as in production, from a configuration file that the demo writes and prints; only its
//! surroundings are simulated. All of them listen on loopback only.

use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use ports::Key;
use sim::demo;
use sim::erp::{ErpSim, SimTenant, TriggerSettings};
use sim::idp::{IdpSettings, IdpSim, demo_group, demo_users};
use tokio::net::TcpListener;
use vocab::TenantKey;

use crate::auth::{CALLBACK_PATH, LANDING_PATH};
use crate::config::Settings;
use crate::serve::{Server, StartError};

/// The blueprints every demo tenant gets.
const BLUEPRINTS: [(&str, &str); 2] = [
    ("rechnungsfreigabe", include_str!("../../blueprints/rechnungsfreigabe.yaml")),
    ("gutschrift", include_str!("../../blueprints/gutschrift.yaml")),
];
/// Blueprint groups of the examples.
const GROUPS: [&str; 3] = ["einkauf", "buchhaltung", "leitung"];
/// Roles.
const ROLES: [&str; 3] = ["operator", "admin", "auditor"];
/// Says into which store the receipts of this demo folder were put.
const READY_FILE: &str = "receipts-ready";

/// What `demo` may be told.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// Folder for everything the demo keeps.
    pub data: PathBuf,
    /// Start over.
    pub fresh: bool,
    /// Port of the app, 0 = any.
    pub port: u16,
    /// Port of the simulated ERP, 0 = any.
    pub erp_port: u16,
    /// Port of the identity provider, 0 = any.
    pub idp_port: u16,
}

/// Why the demo does not start.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A file can't be read or written.
    #[error("{path}: {reason}")]
    File {
        /// Which.
        path: String,
        /// Why.
        reason: std::io::Error,
    },
    /// `--fresh` over a folder that is no demo's.
    #[error("{path} was not made by the demo: name another folder with --data, or empty it yourself")]
    NotADemo {
        /// Which.
        path: String,
    },
    /// A part can't be built.
    #[error("{part}: {reason}")]
    Part {
        /// Which.
        part: &'static str,
        /// Why.
        reason: String,
    },
    /// The server.
    #[error(transparent)]
    Start(#[from] StartError),
}

fn part(part: &'static str) -> impl Fn(&dyn std::fmt::Display) -> DemoError {
    move |reason| DemoError::Part { part, reason: reason.to_string() }
}

fn file(path: &Path) -> impl Fn(std::io::Error) -> DemoError {
    let path = path.display().to_string();
    move |reason| DemoError::File { path: path.clone(), reason }
}

/// Runs the demo until it is told to stop.
///
/// # Errors
/// [`DemoError`].
pub async fn run(options: DemoOptions) -> Result<(), DemoError> {
    prepare_folder(&options)?;
    let app = listener(options.port).await?;
    let erp = listener(options.erp_port).await?;
    let idp = listener(options.idp_port).await?;
    let (app_address, erp_address, idp_address) = (address(&app)?, address(&erp)?, address(&idp)?);
    let secrets = Secrets::open(&options.data.join("secrets"))?;
    let urls = Urls {
        app: format!("http://{app_address}"),
        erp: format!("http://{erp_address}"),
        idp: format!("http://{idp_address}"),
    };
    let config = options.data.join("connectworkflow.toml");
    fs::write(&config, config_text(&urls, app_address)).map_err(file(&config))?;
    let settings = Settings::load(Some(&config)).map_err(|e| part("configuration")(&e))?;

    let sim =
        ErpSim::open(options.data.join("erp"), sim_tenants(&urls, &secrets)?).map_err(|e| part("simulated ERP")(&e))?;
    let provider = IdpSim::new(idp_settings(&urls, &secrets, &options.data)?, demo_users());
    let provider = provider.map_err(|e| part("identity provider")(&e))?;
    tokio::spawn(serve_side("simulated ERP", erp, sim.router()));
    tokio::spawn(serve_side("identity provider", idp, provider.router()));

    // The port was only held until now, so that no other process takes it.
    drop(app);
    let place = store_place(&settings);
    let server = Server::build(settings).await?;
    load_demo(&server, &options.data, &place).await?;
    server.run(|_| announce(&urls, &config)).await?;
    Ok(())
}

struct Urls {
    app: String,
    erp: String,
    idp: String,
}

/// A demo folder is known by its configuration file; only such a folder is ever emptied.
fn prepare_folder(options: &DemoOptions) -> Result<(), DemoError> {
    let data = &options.data;
    let config = data.join("connectworkflow.toml");
    if options.fresh && data.exists() {
        let empty = fs::read_dir(data).map_err(file(data))?.next().is_none();
        if !config.exists() && !empty {
            return Err(DemoError::NotADemo { path: data.display().to_string() });
        }
        fs::remove_dir_all(data).map_err(file(data))?;
    }
    fs::create_dir_all(data.join("secrets")).map_err(file(data))
}

async fn listener(port: u16) -> Result<TcpListener, DemoError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(address).await.map_err(|reason| StartError::Listen { address, reason }.into())
}

fn address(listener: &TcpListener) -> Result<SocketAddr, DemoError> {
    listener.local_addr().map_err(|e| part("address")(&e))
}

async fn serve_side(name: &'static str, listener: TcpListener, router: axum::Router) {
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(name, %error, "stopped");
    }
}

/// Random secrets, made once and kept in files that only their owner reads.
struct Secrets {
    folder: PathBuf,
}

impl Secrets {
    fn open(folder: &Path) -> Result<Self, DemoError> {
        let secrets = Self { folder: folder.to_owned() };
        secrets.make("oidc")?;
        for tenant in &demo::TENANTS {
            secrets.make(&erp_secret(tenant))?;
            secrets.make(&trigger_secret(tenant))?;
        }
        Ok(secrets)
    }

    fn make(&self, name: &str) -> Result<(), DemoError> {
        let path = self.folder.join(name);
        if path.exists() {
            return Ok(());
        }
        let text = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        fs::write(&path, text).map_err(file(&path))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(file(&path))?;
        }
        Ok(())
    }

    fn read(&self, name: &str) -> Result<String, DemoError> {
        let path = self.folder.join(name);
        fs::read_to_string(&path).map_err(file(&path))
    }
}

fn erp_secret(tenant: &demo::DemoTenant) -> String {
    format!("erp-{}-{}", tenant.customer, tenant.tenant)
}

fn trigger_secret(tenant: &demo::DemoTenant) -> String {
    format!("trigger-{}-{}", tenant.customer, tenant.tenant)
}

fn issuer(tenant: &demo::DemoTenant) -> String {
    format!("erp-{}", tenant.customer)
}

fn config_text(urls: &Urls, address: SocketAddr) -> String {
    let mut text = format!(
        "# Written by `connectworkflow demo`.\n\
         [server]\naddress = \"{address}\"\nexternal_url = \"{}\"\nenv = \"demo\"\n\n\
         [store]\nkind = \"local\"\npath = \"store\"\n\n\
         [oidc]\nissuer = \"{}\"\nclient_id = \"connectworkflow\"\nclient_secret_file = \"secrets/oidc\"\n",
        urls.app, urls.idp
    );
    for tenant in &demo::TENANTS {
        let (customer, name) = (tenant.customer, tenant.tenant);
        let map = |names: &[&str]| {
            let entry = |group: &&str| format!("{group} = [\"{}\"]", demo_group(customer, name, group));
            names.iter().map(entry).collect::<Vec<_>>().join(", ")
        };
        // Writing to a String can't fail.
        let _infallible = write!(
            text,
            "\n[[tenant]]\ncustomer = \"{customer}\"\ntenant = \"{name}\"\ntime_zone = \"Europe/Berlin\"\n\
             groups = {{ {groups} }}\nroles = {{ {roles} }}\n\
             [tenant.erp]\nurl = \"{erp}/{customer}/{name}/graphql\"\ntoken_file = \"secrets/{token}\"\n\
             timeout_s = 10\ntrigger_guid_field = \"fldSel30314\"\n\
             [tenant.erp.states]\nnone = \"none\"\n\
             [tenant.trigger]\nissuer = \"{issuer}\"\naudience = \"connectworkflow\"\nalgorithm = \"HS256\"\n\
             secret_file = \"secrets/{secret}\"\n",
            groups = map(&GROUPS),
            roles = map(&ROLES),
            erp = urls.erp,
            token = erp_secret(tenant),
            issuer = issuer(tenant),
            secret = trigger_secret(tenant),
        );
    }
    text
}

fn sim_tenants(urls: &Urls, secrets: &Secrets) -> Result<Vec<SimTenant>, DemoError> {
    let tenant = |tenant: &demo::DemoTenant| {
        Ok(SimTenant {
            customer: tenant.customer.to_owned(),
            tenant: tenant.tenant.to_owned(),
            erp_token: secrets.read(&erp_secret(tenant))?,
            trigger: TriggerSettings {
                url: format!("{}/api/workflow/trigger", urls.app),
                issuer: issuer(tenant),
                audience: "connectworkflow".to_owned(),
                secret: secrets.read(&trigger_secret(tenant))?.into_bytes(),
            },
            objects: demo::objects(tenant),
        })
    };
    demo::TENANTS.iter().map(tenant).collect()
}

fn idp_settings(urls: &Urls, secrets: &Secrets, data: &Path) -> Result<IdpSettings, DemoError> {
    Ok(IdpSettings {
        issuer: urls.idp.clone(),
        client_id: "connectworkflow".to_owned(),
        client_secret: secrets.read("oidc")?,
        redirect_uris: vec![format!("{}{CALLBACK_PATH}", urls.app)],
        post_logout_uris: vec![format!("{}{LANDING_PATH}", urls.app)],
        data_dir: data.join("idp"),
    })
}

/// Names the store that the demo runs on: the embedded one, or what `CONNECTWORKFLOW__STORE__…` says.
fn store_place(settings: &Settings) -> String {
    let store = &settings.store;
    let endpoint = store.endpoint.as_ref().map_or("", |url| url.as_str());
    format!("{:?} {endpoint} {} {} {}", store.kind, store.s3_region(), settings.server.env, store.system_bucket)
}

/// Publishes the example blueprints and puts the receipts in their places. A second start on the same store changes
/// nothing.
async fn load_demo(server: &Server, data: &Path, store: &str) -> Result<(), DemoError> {
    let ready = data.join(READY_FILE);
    let has_receipts = fs::read_to_string(&ready).is_ok_and(|place| place == store);
    let engine = server.engine();
    for tenant in &demo::TENANTS {
        let key = TenantKey::new(tenant.customer, tenant.tenant);
        for (name, yaml) in BLUEPRINTS {
            let published = engine.publish(&key, yaml, "demo", Some("Beispiel")).await;
            published.map_err(|e| part("example blueprint")(&format!("{name}: {e}")))?;
        }
        if has_receipts {
            continue;
        }
        for (path, bytes) in demo::receipts(tenant) {
            let place = Key::new(path).map_err(|e| part("receipt")(&e))?;
            engine.put_receipt(&key, &place, Bytes::from(bytes)).await.map_err(|e| part("receipt")(&e))?;
        }
    }
    fs::write(&ready, store).map_err(file(&ready))
}

#[expect(clippy::print_stdout, reason = "the demo tells its user where to go")]
fn announce(urls: &Urls, config: &Path) {
    println!();
    println!("  ConnectWorkflow   {}", urls.app);
    println!("  Simulated ERP     {}   (starts approvals, switches the ERP off, locks receipts)", urls.erp);
    println!("  Identity provider {}", urls.idp);
    println!("  Configuration     {}", config.display());
    println!();
    println!("  Demo users (pick one on the login page, no password):");
    for user in demo_users() {
        println!("    {:<13} {:<20} {}", user.name, user.full_name, user.groups.join(" "));
    }
    println!();
    println!("  Stop with Ctrl-C; the next start goes on where this one ended, --fresh starts over.");
    println!("ready {}", urls.app);
}
