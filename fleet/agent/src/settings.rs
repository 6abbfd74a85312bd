//! What the site decides: one file.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use whyoom_files::untrusted;
use whyoom_logs::Pattern;

use crate::{
    guard::Guard,
    otlp::{Headers, Receiver},
    redaction::{Redaction, Rule},
};

/// A longer file is no settings.
const LONGEST: u64 = 1 << 20;

/// The journal has room for an incident, whatever it is.
const LEAST_JOURNAL: u64 = 16 << 10;
/// The node's name, where a settings file serves many nodes.
const NODE_VARIABLE: &str = "WHYOOM_NODE";

/// What the site decides. Every key has a default but `archive`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Where incidents go: `s3://BUCKET/PREFIX` or a folder.
    pub archive: String,
    /// The cluster's name.
    #[serde(default)]
    pub cluster: String,
    /// The node's name; by default that of the variable `WHYOOM_NODE`, or the machine's.
    #[serde(default)]
    pub node: Option<String>,
    /// Logs, by patterns.
    #[serde(default = "default_logs")]
    pub logs: Vec<PathBuf>,
    /// The folder of systemd's journal, where what units print is read, too.
    #[serde(default)]
    pub journald: Option<PathBuf>,
    /// Snapshots that frameworks write when memory runs out, by patterns.
    #[serde(default)]
    pub snapshots: Vec<PathBuf>,
    /// Recordings that `whyoom run` leaves, by patterns that name their folders.
    #[serde(default)]
    pub recordings: Vec<PathBuf>,
    /// What the agent remembers.
    #[serde(default = "default_state")]
    pub state: PathBuf,
    /// Where Prometheus scrapes. Off the loopback it needs the three that follow.
    #[serde(default)]
    pub listen: Option<SocketAddr>,
    /// The certificate for scraping over TLS, with its chain, as PEM.
    #[serde(default)]
    tls_certificate: Option<PathBuf>,
    /// Its key, as PEM.
    #[serde(default)]
    tls_key: Option<PathBuf>,
    /// A file with the token that a scraper sends as `Authorization: Bearer`.
    #[serde(default)]
    token_file: Option<PathBuf>,
    /// A file for node-exporter's textfile collector.
    #[serde(default)]
    pub textfile: Option<PathBuf>,
    /// A receiver of OTLP over HTTP, by its base address.
    #[serde(default)]
    pub otlp: Option<String>,
    /// Headers that it wants, such as a token.
    #[serde(default)]
    pub otlp_headers: Headers,
    /// It gets the figures every so many seconds.
    #[serde(default = "default_otlp")]
    otlp_seconds: u64,
    /// The command `whyoom`.
    #[serde(default = "default_whyoom")]
    pub whyoom: PathBuf,
    /// What a replay tries beside the allocators that it knows: settings of PyTorch, as in
    /// `PYTORCH_CUDA_ALLOC_CONF`.
    #[serde(default)]
    pub replay: Vec<String>,
    /// What must not leave the node: patterns, and what takes their place.
    #[serde(default)]
    pub redact: Vec<Rule>,
    /// Refresh interval of the logs, in seconds.
    #[serde(default = "default_poll")]
    poll_seconds: f64,
    /// Refresh interval of the GPUs, in seconds; 0 for none.
    #[serde(default = "default_who")]
    who_seconds: u64,
    /// An incident is in the archive after so many seconds, where it can be reached.
    #[serde(default = "default_upload")]
    upload_seconds: u64,
    /// The journal holds no more than this. When it is full, logs wait to be read.
    #[serde(default = "default_journal")]
    pub journal_bytes: u64,
    /// Whether logs that are there at the very first start are read from their first line.
    #[serde(default)]
    pub from_start: bool,
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is not written as it should be.
    #[error("{path}: {error}")]
    Text {
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        error: String,
    },
    /// It would show metrics to others.
    #[error("listen = \"{0}\": off the loopback, set tls-certificate, tls-key and token-file")]
    Listen(SocketAddr),
    /// Some of what guards it is missing, or cannot be used.
    #[error("tls-certificate, tls-key, token-file: {0}")]
    Guard(io::Error),
    /// A number makes no sense.
    #[error("{name} must be at least {least}")]
    Small {
        /// The key.
        name: &'static str,
        /// The least that works.
        least: &'static str,
    },
    /// A pattern is none.
    #[error("{path}: {error}")]
    Pattern {
        /// The pattern.
        path: PathBuf,
        /// What is wrong with it.
        error: String,
    },
    /// A receiver of OTLP is none.
    #[error("{0}")]
    Otlp(String),
    /// A rule of redaction is none.
    #[error("redact: {0}")]
    Rule(#[from] regex::Error),
}

fn default_logs() -> Vec<PathBuf> {
    vec!["/var/log/pods/*/*/*.log".into(), "/var/lib/docker/containers/*/*-json.log".into()]
}

fn default_state() -> PathBuf {
    "/var/lib/whyoom-fleet".into()
}

fn default_whyoom() -> PathBuf {
    "whyoom".into()
}

fn default_poll() -> f64 {
    1.0
}

fn default_who() -> u64 {
    60
}

fn default_otlp() -> u64 {
    60
}

fn default_upload() -> u64 {
    300
}

fn default_journal() -> u64 {
    64 << 20
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it cannot be read or used.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let file = |error| SettingsError::File { path: path.to_owned(), error };
        let bytes = untrusted::read(path, LONGEST).map_err(file)?;
        let text = |error: String| SettingsError::Text { path: path.to_owned(), error };
        let settings: Self = toml::from_str(&String::from_utf8_lossy(&bytes))
            .map_err(|error| text(error.to_string()))?;
        settings.checked()
    }

    fn checked(self) -> Result<Self, SettingsError> {
        let open = self.listen.filter(|listen| !listen.ip().is_loopback());
        if let (Some(listen), None) = (open, self.guard()?) {
            return Err(SettingsError::Listen(listen));
        }
        if !(self.poll_seconds.is_finite() && self.poll_seconds > 0.0) {
            return Err(SettingsError::Small { name: "poll-seconds", least: "0.001" });
        }
        if self.journal_bytes < LEAST_JOURNAL {
            return Err(SettingsError::Small { name: "journal-bytes", least: "16384" });
        }
        if self.otlp_seconds == 0 {
            return Err(SettingsError::Small { name: "otlp-seconds", least: "1" });
        }
        self.receiver()?;
        for patterns in [&self.logs, &self.snapshots, &self.recordings] {
            Self::patterns(patterns)?;
        }
        self.redaction()?;
        Ok(self)
    }

    /// What a scraper must have; nothing where the site wants nothing.
    pub(crate) fn guard(&self) -> Result<Option<Guard>, SettingsError> {
        match (&self.tls_certificate, &self.tls_key, &self.token_file) {
            (None, None, None) => Ok(None),
            (Some(certificate), Some(key), Some(token)) => {
                Guard::read(certificate, key, token).map(Some).map_err(SettingsError::Guard)
            }
            _ => Err(SettingsError::Guard(io::Error::other("all three belong together"))),
        }
    }

    /// Patterns that can be looked for.
    pub(crate) fn patterns(paths: &[PathBuf]) -> Result<Vec<Pattern>, SettingsError> {
        let pattern = |path: &PathBuf| {
            Pattern::new(path).map_err(|error| SettingsError::Pattern {
                path: path.clone(),
                error: error.to_string(),
            })
        };
        paths.iter().map(pattern).collect()
    }

    pub(crate) fn redaction(&self) -> Result<Redaction, SettingsError> {
        Ok(Redaction::new(&self.redact)?)
    }

    /// Who gets OTLP, and how often it gets the figures.
    pub(crate) fn receiver(&self) -> Result<Option<(Receiver, Duration)>, SettingsError> {
        let Some(base) = &self.otlp else { return Ok(None) };
        let receiver = Receiver::new(base, &self.otlp_headers).map_err(SettingsError::Otlp)?;
        Ok(Some((receiver, Duration::from_secs(self.otlp_seconds))))
    }

    pub(crate) fn poll(&self) -> Duration {
        Duration::from_secs_f64(self.poll_seconds.min(3600.0))
    }

    pub(crate) fn who(&self) -> Option<Duration> {
        (self.who_seconds > 0).then(|| Duration::from_secs(self.who_seconds))
    }

    pub(crate) fn upload(&self) -> Duration {
        Duration::from_secs(self.upload_seconds)
    }

    /// The node's name.
    pub(crate) fn node_name(&self) -> String {
        let told = || std::env::var(NODE_VARIABLE).ok().filter(|name| !name.is_empty());
        let machine = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        self.node.clone().or_else(told).unwrap_or_else(machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, SettingsError> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("it is written");
        Settings::read(file.path())
    }

    #[test]
    fn only_the_archive_must_be_named() {
        let settings = read("archive = \"/srv/incidents\"").expect("it is enough");
        assert_eq!(settings.poll(), Duration::from_secs(1));
        assert!(!settings.logs.is_empty());
        assert!(read("").is_err());
        assert!(read("archive = \"x\"\nlogz = []").is_err(), "a misspelt key is no default");
        for wrong in [
            "poll-seconds = 0",
            "journal-bytes = 0",
            "logs = ['/a/**b']",
            "redact = [{pattern = '('}]",
            "otlp = '127.0.0.1:4318'",
            "otlp = 'http://ann:secret@127.0.0.1:4318'",
            "otlp = 'http://127.0.0.1:4318'\notlp-seconds = 0",
            "otlp = 'http://127.0.0.1:4318'\notlp-headers = {a = \"b\\nc\"}",
        ] {
            assert!(read(&format!("archive = 'x'\n{wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_token_is_not_shown() {
        let text =
            "archive = 'x'\notlp = 'https://a/otlp/'\notlp-headers = {authorization = 'hunter2'}";
        let settings = read(text).expect("it is right");
        let (receiver, every) = settings.receiver().expect("it is right").expect("there is one");
        assert_eq!(every, Duration::from_secs(60));
        assert!(format!("{receiver:?}").contains("\"/otlp/v1/logs\""), "{receiver:?}");
        let shown = format!("{settings:?} {receiver:?}");
        assert!(shown.contains("authorization") && !shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn metrics_are_not_shown_to_others() {
        assert!(read("archive = \"x\"\nlisten = \"127.0.0.1:9400\"").is_ok());
        let open = read("archive = \"x\"\nlisten = \"0.0.0.0:9400\"");
        assert!(matches!(open, Err(SettingsError::Listen(_))), "{open:?}");
        let half = read("archive = \"x\"\nlisten = \"0.0.0.0:9400\"\ntoken-file = \"/x\"");
        assert!(matches!(half, Err(SettingsError::Guard(_))), "{half:?}");
    }
}
