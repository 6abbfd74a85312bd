//! A journal of systemd of our own: the real journald, in a namespace that nobody else uses.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};

use super::place::{Running, wait_for};

const JOURNALD: &str = "/lib/systemd/systemd-journald";

/// A running journald.
pub(super) struct Journal {
    name: String,
    socket: UnixDatagram,
    running: Option<Running>,
}

impl Journal {
    pub(super) fn start() -> Result<Self> {
        let name = format!("whyoom-{}", std::process::id());
        // Rules of how much a service may write are for services.
        fs::create_dir_all("/etc/systemd")?;
        fs::write(config(&name), "[Journal]\nRateLimitIntervalSec=0\nStorage=persistent\n")?;
        fs::create_dir_all("/run/systemd")?;
        let mut journald = Command::new(JOURNALD);
        journald.arg(&name).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = Running(journald.spawn().context("apt-get install systemd")?);
        let at = PathBuf::from(format!("/run/systemd/journal.{name}/socket"));
        let socket = UnixDatagram::unbound()?;
        let journal = Self { name, socket, running: Some(running) };
        wait_for("journald listens", 20, || Ok(journal.socket.connect(&at).is_ok()))?;
        Ok(journal)
    }

    /// The folder of its files.
    pub(super) fn folder(&self) -> Result<PathBuf> {
        let machine = fs::read_to_string("/etc/machine-id").context("systemd-machine-id-setup")?;
        Ok(format!("/var/log/journal/{}.{}", machine.trim(), self.name).into())
    }

    /// A line of a container, in the protocol of journald.
    pub(super) fn send(&self, container: &str, line: &str) -> Result<()> {
        let mut entry = format!("CONTAINER_NAME={container}\nMESSAGE\n").into_bytes();
        entry.extend((line.len() as u64).to_le_bytes());
        entry.extend(line.as_bytes());
        entry.push(b'\n');
        self.socket.send(&entry)?;
        Ok(())
    }
}

fn config(name: &str) -> String {
    format!("/etc/systemd/journald@{name}.conf")
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.running = None;
        let folder = self.folder().unwrap_or_default();
        // What is left of a check that failed is in nobody's way.
        let _ = fs::remove_dir_all(folder);
        let _ = fs::remove_dir_all(format!("/run/systemd/journal.{}", self.name));
        let _ = fs::remove_file(config(&self.name));
    }
}
