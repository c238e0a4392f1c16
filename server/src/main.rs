//! The command line: `connectworkflow serve`, `demo`, `blueprint check` and `publish`, `log verify`.
//!
//! Exit codes: 0 good, 1 the input is bad or the server can't run, 2 usage.

mod expr_command;
mod log_verify;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use server::{Server, Settings};
use tracing_subscriber::EnvFilter;

/// Approval workflows for microtech büro+.
#[derive(Debug, Parser)]
#[command(name = "connectworkflow", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the server.
    Serve {
        /// Configuration file; every key can also come from the environment.
        #[arg(long)]
        config: Option<PathBuf>,
        /// Only prints the configuration in force, secrets masked, and tries the store (which no running server may hold).
        #[arg(long)]
        check: bool,
    },
    /// Runs the server with a simulated ERP and a demo identity provider.
    #[cfg(feature = "demo")]
    Demo {
        /// Folder for everything the demo keeps.
        #[arg(long, default_value = "data/demo")]
        data: PathBuf,
        /// Start over.
        #[arg(long)]
        fresh: bool,
        /// Port of the app, 0 = any free one.
        #[arg(long, default_value_t = 3000)]
        port: u16,
        /// Port of the simulated ERP.
        #[arg(long, default_value_t = 3001)]
        erp_port: u16,
        /// Port of the identity provider.
        #[arg(long, default_value_t = 3002)]
        idp_port: u16,
    },
    /// Works on blueprints.
    Blueprint {
        #[command(subcommand)]
        command: BlueprintCommand,
    },
    /// Evaluates expressions: JSON lines in, JSON lines out.
    Expr,
    /// Works on execution logs.
    Log {
        #[command(subcommand)]
        command: LogCommand,
    },
}

#[derive(Debug, Subcommand)]
enum LogCommand {
    /// Proves that a log is whole: an export of `GET /api/instances/{id}/log`, or an instance document from the store.
    Verify {
        /// The file.
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
enum BlueprintCommand {
    /// Reports every problem of blueprint files with line and column.
    Check {
        /// Files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Publishes a blueprint as its newest version into the configured store, which no server may hold meanwhile.
    Publish(Publish),
}

#[derive(Debug, clap::Args)]
struct Publish {
    /// The blueprint.
    file: PathBuf,
    /// customerID.
    #[arg(long)]
    customer: String,
    /// tenantID.
    #[arg(long)]
    tenant: String,
    /// Why; kept in the catalog.
    #[arg(long)]
    note: Option<String>,
    /// Configuration file, the one of `serve`.
    #[arg(long)]
    config: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    match run(cli.command).await {
        Ok(code) => code,
        Err(message) => {
            tracing::error!("{message}");
            ExitCode::from(1)
        }
    }
}

#[expect(clippy::print_stdout, reason = "commands answer on standard output")]
async fn run(command: Command) -> Result<ExitCode, String> {
    match command {
        Command::Serve { config, check } => {
            let settings = Settings::load(config.as_deref()).map_err(|error| error.to_string())?;
            for warning in settings.warnings() {
                tracing::warn!("{warning}");
            }
            if check {
                println!("{}", settings.masked_toml().map_err(|error| error.to_string())?);
                server::check_store(&settings.store).await.map_err(|error| error.to_string())?;
                return Ok(ExitCode::SUCCESS);
            }
            let server = Server::build(settings).await.map_err(|error| error.to_string())?;
            server.run(|address| println!("ready http://{address}")).await.map_err(|error| error.to_string())?;
            Ok(ExitCode::SUCCESS)
        }
        #[cfg(feature = "demo")]
        Command::Demo { data, fresh, port, erp_port, idp_port } => {
            let options = server::demo::DemoOptions { data, fresh, port, erp_port, idp_port };
            server::demo::run(options).await.map_err(|error| error.to_string())?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Blueprint { command: BlueprintCommand::Check { files } } => Ok(check_blueprints(&files)),
        Command::Log { command: LogCommand::Verify { file } } => {
            let (answer, good) = log_verify::verify(&file);
            println!("{answer}");
            Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
        Command::Blueprint { command: BlueprintCommand::Publish(publish) } => publish_blueprint(publish).await,
        Command::Expr => {
            let readable = expr_command::run(std::io::stdin().lock(), std::io::stdout().lock());
            match readable.map_err(|error| format!("the rows can't be read or answered: {error}"))? {
                true => Ok(ExitCode::SUCCESS),
                false => Ok(ExitCode::from(1)),
            }
        }
    }
}

#[expect(clippy::print_stdout, reason = "commands answer on standard output")]
async fn publish_blueprint(publish: Publish) -> Result<ExitCode, String> {
    let Publish { file, customer, tenant, note, config } = publish;
    let name = file.display();
    let yaml = std::fs::read_to_string(&file).map_err(|error| format!("{name}: can't be read: {error}"))?;
    let settings = Settings::load(config.as_deref()).map_err(|error| error.to_string())?;
    // The same wiring as the server's; it listens nowhere and asks neither the ERP nor the identity provider.
    let server = Server::build(settings).await.map_err(|error| error.to_string())?;
    let tenant = vocab::TenantKey::new(customer, tenant);
    let published = server.engine().publish(&tenant, &yaml, "command line", note.as_deref()).await;
    let version = published.map_err(|error| format!("{name}: {error}"))?;
    println!("{name}: version {version} is the newest for {tenant}");
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stdout, reason = "commands answer on standard output")]
fn check_blueprints(files: &[PathBuf]) -> ExitCode {
    let mut bad = false;
    for file in files {
        let name = file.display();
        match std::fs::read_to_string(file) {
            Err(error) => {
                bad = true;
                println!("{name}: can't be read: {error}");
            }
            Ok(text) => match workflow::blueprint::parse(&text) {
                Ok(blueprint) => println!("{name}: {} is good", blueprint.id),
                Err(problems) => {
                    bad = true;
                    for line in problems.to_string().lines() {
                        println!("{name}: {line}");
                    }
                }
            },
        }
    }
    if bad { ExitCode::from(1) } else { ExitCode::SUCCESS }
}
