//! One independent S3 server per test run: on a free port of loopback, with a fresh folder.
//!
//! Invariant: it ends with the value that stands for it, and its folder goes with it.
//! Never: an address that other machines reach.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::error::{Context, Error, Result};
use crate::layout::{self, Layout};
use crate::run;
use crate::setup;

/// How long it may take until it answers.
const START_MAX: Duration = Duration::from_secs(90);
/// How long one question may take.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Pause between two questions.
const PAUSE: Duration = Duration::from_millis(200);
/// Both keys, which it is told too.
const KEY: &str = "connectworkflow-test";

/// A running S3 server.
pub(super) struct Server {
    child: Child,
    folder: PathBuf,
    log: PathBuf,
    address: SocketAddr,
}

impl Server {
    /// Installs it where needed, starts it and waits until it answers.
    pub(super) fn start(layout: &Layout) -> Result<Self> {
        let installed = setup::ministack()?;
        let folder = layout.work().join(format!("s3-{}", std::process::id()));
        if folder.exists() {
            std::fs::remove_dir_all(&folder).context(|| format!("cannot remove {}", folder.display()))?;
        }
        layout::make_dir(&folder)?;
        let log = layout.work().join("s3.log");
        let output = File::create(&log).context(|| format!("cannot create {}", log.display()))?;
        let errors = output.try_clone().context(|| format!("cannot open {} twice", log.display()))?;
        let address = free_address()?;
        let mut command = run::command(&installed.program);
        command.env("BIND_HOST", address.ip().to_string()).env("GATEWAY_PORT", address.port().to_string());
        command.env("SERVICES", "s3").env("AUTH", "true").env("S3_PERSIST", "1").env("S3_DATA_DIR", &folder);
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", KEY);
        command.current_dir(&folder).stdout(output).stderr(errors);
        run::say(&format!("==> S3 server for the tests on {address}"));
        let child = command.spawn().context(|| format!("cannot start {}", installed.program.display()))?;
        let mut server = Self { child, folder, log, address };
        server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < START_MAX {
            if let Some(status) = self.child.try_wait().context(|| "cannot wait for the S3 server".into())? {
                return Err(Error::new(format!("the S3 server ended ({status}); see {}", self.log.display())));
            }
            if self.answers() {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        let seconds = START_MAX.as_secs();
        Err(Error::new(format!("the S3 server doesn't answer after {seconds} s; see {}", self.log.display())))
    }

    /// Whether it speaks HTTP yet.
    fn answers(&self) -> bool {
        let ask = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect_timeout(&self.address, ANSWER_MAX)?;
            stream.set_read_timeout(Some(ANSWER_MAX))?;
            write!(stream, "GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address)?;
            let mut begin = [0; 5];
            stream.read_exact(&mut begin)?;
            Ok(&begin == b"HTTP/")
        };
        ask().unwrap_or(false)
    }

    /// What `cargo test` is told.
    pub(super) fn test_variables(&self) -> [(&'static str, String); 4] {
        [
            ("CONNECTWORKFLOW_TEST_S3_ENDPOINT", format!("http://{}", self.address)),
            ("CONNECTWORKFLOW_TEST_S3_ACCESS_KEY_ID", KEY.to_owned()),
            ("CONNECTWORKFLOW_TEST_S3_SECRET_ACCESS_KEY", KEY.to_owned()),
            ("CONNECTWORKFLOW_TEST_S3_REQUIRED", "1".to_owned()),
        ]
    }

    /// The server's configuration for a store on it.
    pub(super) fn store_variables(&self) -> [(&'static str, String); 4] {
        [
            ("CONNECTWORKFLOW__STORE__KIND", "s3".to_owned()),
            ("CONNECTWORKFLOW__STORE__ENDPOINT", format!("http://{}", self.address)),
            ("CONNECTWORKFLOW__STORE__ACCESS_KEY_ID", KEY.to_owned()),
            ("CONNECTWORKFLOW__STORE__SECRET_ACCESS_KEY", KEY.to_owned()),
        ]
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; what can't be stopped or removed doesn't change the tests' result.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// An address of loopback that nobody listens on now.
fn free_address() -> Result<SocketAddr> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    free.context(|| "no free port on loopback".into())
}
