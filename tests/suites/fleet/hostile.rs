//! People who mean harm write logs, snapshots and recordings, make links, and run the store: the agent tells what is
//! true, in little memory, and harms nobody.

mod archives;
mod bombs;
mod damaged;
mod forged;
mod liar;
mod lines;
mod links;
mod scrapes;
mod secrets;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use anyhow::{Result, ensure};
use harness::{Build, Check, Held, text};
use whyoom_incident::Incident;

use super::{
    node::peak_of,
    place::{Node, Running, rows, wait_for},
    servers::{free_ports, http_get},
};

/// Whatever is written, the agent itself takes no more.
const MOST_MEMORY: u64 = 64 << 20;

const MESSAGE: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total \
    capacity of 79.25 GiB of which 1.10 GiB is free.";

pub(super) fn checks() -> Vec<Check> {
    vec![
        Check::new("hostile::lines", || beside_bystanders(lines::run)),
        Check::new("hostile::forged", || beside_bystanders(forged::run)),
        Check::new("hostile::names", || beside_bystanders(forged::names)),
        Check::new("hostile::links", || beside_bystanders(links::run)),
        Check::new("hostile::bombs", || beside_bystanders(bombs::run)),
        Check::new("hostile::liars", || beside_bystanders(liar::run)),
        Check::new("hostile::archives", archives::run),
        Check::new("hostile::damaged", damaged::run),
        Check::new("hostile::environment", || beside_bystanders(secrets::environment)),
        Check::new("hostile::permissions", secrets::permissions),
        Check::new("hostile::scrapes", scrapes::run),
    ]
}

/// A program that has done nothing, and that every log blames.
struct Bystander(Running);

impl Bystander {
    fn start() -> Result<Self> {
        Ok(Self(Running(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn()?)))
    }

    /// What a log says of it.
    fn blame(&self) -> String {
        let pid = self.0.0.id();
        format!(
            "{MESSAGE} Process {pid} has 77.00 GiB memory in use. Including non-PyTorch memory, this process has 1.15 \
             GiB memory in use. Fix: kill -9 {pid}\n"
        )
    }
}

/// Runs a check, and looks whether who stood beside it still lives.
fn beside_bystanders(check: impl FnOnce(&Bystander) -> Result<String>) -> Result<Held> {
    let mut bystander = Bystander::start()?;
    let said = check(&bystander)?;
    let ended = bystander.0.0.try_wait()?;
    ensure!(ended.is_none(), "a bystander was killed: {ended:?}");
    Ok(Held::new(said))
}

/// A node whose agent is asked while it runs.
struct Attacked {
    node: Node,
    port: u16,
}

impl Attacked {
    /// With an archive in a folder; `settings` may name another.
    fn new(name: &str, whyoom: &Path, settings: &str) -> Result<Self> {
        let port = free_ports(1)?[0];
        let archive = match settings.contains("archive = ") {
            true => String::new(),
            false => {
                format!("archive = '{}'\n", text(&harness::fresh(&format!("{name}-archive"))?))
            }
        };
        let settings = format!(
            "{archive}whyoom = '{}'\nwho-seconds = 0\nupload-seconds = 1\npoll-seconds = 0.2\nlisten = \
             '127.0.0.1:{port}'\n{settings}",
            text(whyoom)
        );
        Ok(Self { node: Node::new(name, &settings)?, port })
    }

    /// With the real `whyoom`.
    fn judged(name: &str, settings: &str) -> Result<Self> {
        Self::new(name, &Build::ready()?.whyoom(), settings)
    }

    fn start(&self) -> Result<Running> {
        self.start_with(&[])
    }

    fn start_with(&self, variables: &[(&str, String)]) -> Result<Running> {
        let mut agent = self.node.agent()?;
        // Where a pickle would leave its mark.
        agent.current_dir(&self.node.folder).envs(variables.iter().cloned());
        let agent = Running(agent.spawn()?);
        wait_for("metrics answer", 30, || Ok(http_get(self.port, "/healthz").is_ok()))?;
        Ok(agent)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.node.path("logs").join(name)
    }

    /// The log of a pod.
    fn pod(&self, folder: &str) -> Result<PathBuf> {
        let folder = self.log(&format!("pods/{folder}/main"));
        fs::create_dir_all(&folder)?;
        Ok(folder.join("0.log"))
    }

    fn metrics(&self) -> Result<String> {
        let answer = http_get(self.port, "/metrics")?;
        Ok(answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
    }

    /// The sum of the series of a name.
    fn metric(&self, name: &str) -> Result<u64> {
        let text = self.metrics()?;
        let series = text.lines().filter_map(|line| line.strip_prefix(name));
        let series = series.filter(|rest| rest.starts_with(['{', ' ']));
        let values = series.filter_map(|rest| rest.rsplit_once(' ')?.1.parse::<f64>().ok());
        Ok(values.sum::<f64>() as u64)
    }

    fn rows(&self) -> Result<Vec<Incident>> {
        rows(&harness::scratch("fresh")?.join(format!("{}-archive", self.name())))
    }

    fn name(&self) -> String {
        self.node.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Waits until so many incidents are in the archive.
    fn archived(&self, count: u64, limit: u64) -> Result<()> {
        let mut there = 0;
        let waited = wait_for("all are in the archive", limit, || {
            there = self.metric("whyoom_agent_archived_incidents_total").unwrap_or(there);
            Ok(there >= count)
        });
        let said = fs::read_to_string(self.node.path("agent.err")).unwrap_or_default();
        waited.map_err(|error| error.context(format!("{there} of {count}: {said}")))
    }
}

/// An error where an agent took more than it may.
fn small(agent: &Running) -> Result<String> {
    let memory = peak_of(agent.0.id())?;
    let said = format!("{:.1} MiB resident", memory as f64 / f64::from(1 << 20));
    ensure!(memory <= MOST_MEMORY, "{said}");
    Ok(said)
}

/// Makes a file an hour old: what was just written may not be complete.
fn make_old(path: &Path) -> Result<()> {
    let old = SystemTime::now() - Duration::from_secs(3600);
    Ok(File::options().write(true).open(path)?.set_modified(old)?)
}
