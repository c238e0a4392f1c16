//! Running programs: with a sign of life every ten seconds, with a time limit, with their output kept.
//!
//! Invariant: no program runs silently for longer than [`HEARTBEAT_S`] and none inherits the variables that
//! the outer `cargo run` set for this crate.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::error::{Context, Error, Result};

/// Longest silence in seconds before a line says what is still running.
const HEARTBEAT_S: u64 = 10;
/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Prints one line for the person at the terminal.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A closed terminal must not stop the work that is under way.
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// A command without what `cargo run` put into our environment: it describes xtask, and some build scripts
/// would be run again because of it.
pub(crate) fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    for (name, _) in std::env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let of_package = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_BIN_");
        if of_package || matches!(name, "CARGO" | "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH" | "LD_LIBRARY_PATH") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Says every ten seconds that `label` is still under way.
struct Heartbeat<'a> {
    label: &'a str,
    start: Instant,
    next_s: u64,
}

impl<'a> Heartbeat<'a> {
    fn new(label: &'a str) -> Self {
        Self { label, start: Instant::now(), next_s: HEARTBEAT_S }
    }

    fn beat(&mut self) {
        let elapsed_s = self.start.elapsed().as_secs();
        if elapsed_s >= self.next_s {
            say(&format!("    … {}: {elapsed_s} s", self.label));
            self.next_s = elapsed_s + HEARTBEAT_S;
        }
    }
}

/// Runs to the end, with the child's output on our terminal. A non-zero exit code is an error.
pub(crate) fn run(label: &str, command: &mut Command) -> Result<()> {
    say(&format!("==> {label}"));
    let start = Instant::now();
    let status = wait(label, command, None)?;
    if !status.success() {
        return Err(Error::new(format!("{label} failed ({status})")));
    }
    say(&format!("    {label}: done in {:.1} s", start.elapsed().as_secs_f64()));
    Ok(())
}

/// Like [`run`], but stops the child after `limit` and counts that as a failure.
pub(crate) fn run_within(label: &str, command: &mut Command, limit: Duration) -> Result<()> {
    say(&format!("==> {label}"));
    let status = wait(label, command, Some(limit))?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("{label} failed ({status})"))) }
}

fn wait(label: &str, command: &mut Command, limit: Option<Duration>) -> Result<ExitStatus> {
    let mut child = command.spawn().context(|| format!("{label}: cannot start {}", name_of(command)))?;
    let mut heartbeat = Heartbeat::new(label);
    loop {
        let ended = child.try_wait().context(|| format!("{label}: cannot wait for the program"))?;
        if let Some(status) = ended {
            return Ok(status);
        }
        if limit.is_some_and(|limit| heartbeat.start.elapsed() > limit) {
            child.kill().context(|| format!("{label}: cannot stop the program"))?;
            child.wait().context(|| format!("{label}: cannot wait for the program"))?;
            return Err(Error::new(format!(
                "{label}: no end after {} s, stopped",
                heartbeat.start.elapsed().as_secs()
            )));
        }
        heartbeat.beat();
        std::thread::sleep(POLL);
    }
}

/// Runs and returns what the child wrote to its standard output; its error output is part of the error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command.output().context(|| format!("cannot start {}", name_of(command)))?;
    if !done.status.success() {
        let reason = String::from_utf8_lossy(&done.stderr);
        return Err(Error::new(format!("{} failed ({}): {}", name_of(command), done.status, reason.trim())));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Runs with the child's output on our terminal *and* returned (both streams, in order of arrival).
pub(crate) fn tee(label: &str, command: &mut Command) -> Result<(ExitStatus, String)> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context(|| format!("{label}: cannot start {}", name_of(command)))?;
    let (sender, receiver) = mpsc::channel::<String>();
    for stream in [child.stdout.take().map(boxed), child.stderr.take().map(boxed)].into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || forward(stream, &sender));
    }
    drop(sender);
    let mut kept = String::new();
    let mut heartbeat = Heartbeat::new(label);
    let mut last = Instant::now();
    loop {
        match receiver.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                say(&line);
                kept.push_str(&line);
                kept.push('\n');
                last = Instant::now();
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if last.elapsed().as_secs() >= HEARTBEAT_S {
                    heartbeat.beat();
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait().context(|| format!("{label}: cannot wait for the program"))?;
    Ok((status, kept))
}

fn boxed(stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(stream)
}

/// Sends each line of `stream`; bytes that are no UTF-8 are replaced, never a reason to stop.
fn forward(stream: Box<dyn Read + Send>, sender: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
        if sender.send(text).is_err() {
            return;
        }
        line.clear();
    }
}

/// Does work in this process, with the same signs of life as a child.
pub(crate) fn within<T: Send>(label: &str, work: impl FnOnce() -> T + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        let mut heartbeat = Heartbeat::new(label);
        while !worker.is_finished() {
            heartbeat.beat();
            std::thread::sleep(POLL);
        }
        worker.join().map_err(|_| Error::new(format!("{label}: panicked; the reason is printed above")))
    })
}

/// Whether a program can be started at all, e.g. `node --version`.
pub(crate) fn exists(program: &str) -> bool {
    command(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn name_of(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
