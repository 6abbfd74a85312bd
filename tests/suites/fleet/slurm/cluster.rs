//! A real Slurm of one node with two GPUs, none of which outlives the check.

use std::{
    env,
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use anyhow::{Context, Result, ensure};
use harness::{Need, root, text};

use super::super::{
    place::{Running, wait_for},
    processes::kill_with_mounts_of,
    servers::free_ports,
};

/// The daemons, and the folder that all of theirs is in.
pub(in super::super) struct Cluster {
    daemons: Option<Running>,
    folder: PathBuf,
}

impl Cluster {
    /// Starts it, with further lines of slurm.conf and with what the node has in /usr/local/bin: names and scripts.
    /// Slurm runs jobs as their users, who can read the folder.
    pub(in super::super) fn start(
        lines: impl FnOnce(&Path) -> String,
        bin: &[(&str, String)],
    ) -> Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        Need::Root.met()?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("whyoom-slurm-{}-{number}", std::process::id()));
        let mut cluster = Self { daemons: None, folder };
        cluster.prepare(&lines(&cluster.folder), bin)?;
        cluster.run()?;
        Ok(cluster)
    }

    fn prepare(&self, lines: &str, bin: &[(&str, String)]) -> Result<()> {
        fs::create_dir(&self.folder)?;
        fs::set_permissions(&self.folder, Permissions::from_mode(0o755))?;
        for name in ["bin", "jobs"] {
            fs::create_dir(self.path(name))?;
        }
        // Whoever runs a job writes there.
        fs::set_permissions(self.path("jobs"), Permissions::from_mode(0o777))?;
        for (name, script) in bin {
            self.script(&format!("bin/{name}"), script)?;
        }
        let folder = text(&self.folder);
        fs::write(
            self.path("gres.conf"),
            format!("NodeName=node Name=gpu File={folder}/nvidia[0-1]\n"),
        )?;
        let (host, ports) = (fs::read_to_string("/proc/sys/kernel/hostname")?, free_ports(2)?);
        let host = host.trim();
        let settings = format!(
            "ClusterName=whyoom\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\nSlurmUser=root\n\
             SlurmdUser=root\nAuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={folder}/munge.socket,cred_expire=10\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n\
             SwitchType=switch/none\nReturnToService=2\nSelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n\
             GresTypes=gpu\nNodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs=2 Gres=gpu:2\n\
             PartitionName=all Nodes=node Default=YES\n",
            ports[0], ports[1]
        );
        Ok(fs::write(self.path("slurm.conf"), settings + lines)?)
    }

    fn run(&mut self) -> Result<()> {
        let mut daemons = Command::new("unshare");
        daemons.args(["--mount", "sh"]);
        daemons.arg(root().join("tests/scenarios/fleet/slurm.sh")).arg(&self.folder);
        let log = File::create(self.path("daemons.log"))?;
        daemons.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.daemons = Some(Running(daemons.spawn()?));
        let is_idle = || Ok(self.told(Command::new("sinfo").args(["-h", "-o", "%t"]))? == "idle");
        wait_for("the node is idle", 60, is_idle)
            .with_context(|| self.logs())
            .context("apt-get install slurmctld slurmd slurm-client munge")
    }

    pub(in super::super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A script that everybody can run.
    pub(in super::super) fn script(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.path(name);
        fs::write(&file, text)?;
        fs::set_permissions(&file, Permissions::from_mode(0o755))?;
        Ok(file)
    }

    /// A command of Slurm's, for this cluster.
    pub(in super::super) fn set<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SLURM_CONF", self.path("slurm.conf")).current_dir(self.path("jobs"))
    }

    /// What a command of Slurm's prints; nothing where it fails.
    pub(in super::super) fn told(&self, command: &mut Command) -> Result<String> {
        let output = self.set(command).output().context("apt-get install slurm-client")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Submits a job and tells its number.
    pub(in super::super) fn submit(&self, command: &mut Command) -> Result<String> {
        let output = self.set(command).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?}: {said}");
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Waits until the queue has none of a job, and its epilog has ended.
    pub(in super::super) fn finished(&self, job: &str, limit: u64) -> Result<()> {
        wait_for(&format!("job {job} has ended"), limit, || {
            Ok(self.told(Command::new("squeue").args(["-h", "-j", job]))?.is_empty())
        })
        .with_context(|| self.logs())
    }

    /// What `scontrol show` says.
    pub(in super::super) fn show(&self, what: &str, name: &str) -> Result<String> {
        self.told(Command::new("scontrol").args(["show", what, name]))
    }

    /// The ends of the daemons' logs.
    fn logs(&self) -> String {
        let end = |name: &str| {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(8).collect();
            format!("{name}: {}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        ["daemons.log", "slurmctld.log", "slurmd.log"].map(end).join("\n")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Slurm's steps and what jobs leave behind are nobody's children, but they see the same mounts.
        if let Some(daemons) = &self.daemons {
            kill_with_mounts_of(daemons.0.id());
        }
        self.daemons = None;
        let _ = fs::remove_dir_all(&self.folder);
    }
}
