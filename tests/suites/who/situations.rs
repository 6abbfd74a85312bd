//! The nine situations: how each is made on the simulated GPU, and what `whyoom who` must call it.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use harness::{Scene, SceneStage, fresh};

/// Nobody's number, on every Linux that matters here.
pub(super) const NOBODY: &str = "65534";
/// A view of the machine as a container has it.
pub(super) const CONTAINER: &[&str] = &["unshare", "--pid", "--fork", "--mount-proc"];
/// What an engine of a well-known server renames itself to; as long as a name can be.
const ENGINE: &str = "VLLM::EngineCor";
const MPS_SERVER: &str = "nvidia-cuda-mps-server";

/// One situation.
pub(super) struct Situation {
    /// As people would call it.
    pub(super) name: &'static str,
    /// How the suspicion is called; where all is well, none must be voiced.
    pub(super) kind: Option<&'static str>,
    /// How the lab is started.
    pub(super) flags: &'static [&'static str],
    /// Whether users or namespaces must be changed for it.
    pub(super) needs_root: bool,
    /// Starts who holds memory; the folder is for what they need beside.
    make: fn(&mut Scene, &Path) -> Result<Made>,
    /// Words by which a monitor would be taken to say it.
    pub(super) words: &'static [&'static str],
}

/// A situation that was made.
pub(super) struct Made {
    /// Who holds memory, by device.
    pub(super) holders: Vec<(usize, u32)>,
    /// The processes that the suspicion must name.
    pub(super) named: Vec<u32>,
    /// The memory that it must explain.
    pub(super) bytes: u64,
    /// What monitors are run behind, so that they see what they should.
    pub(super) before: &'static [&'static str],
}

impl Situation {
    /// Makes it, with a folder of this name.
    pub(super) fn made(&self, stage: &SceneStage, name: &str) -> Result<(Scene, Made, PathBuf)> {
        let folder = fresh(name)?;
        std::fs::create_dir(&folder)?;
        // The server of the multi-process service is known by its name.
        symlink(&stage.holder, folder.join(MPS_SERVER))?;
        let mut scene = Scene::start(stage, self.flags)?;
        let made = (self.make)(&mut scene, &folder)?;
        Ok((scene, made, folder))
    }
}

impl Made {
    /// One process holds memory of device 0 and is what is to be named.
    fn by(scene: &Scene, pid: u32) -> Result<Self> {
        let bytes = scene.held(0, pid)?;
        Ok(Self { holders: vec![(0, pid)], named: vec![pid], bytes, before: &[] })
    }

    /// The same for the only process that the lab itself started.
    fn by_lab(scene: &mut Scene, _: &Path) -> Result<Self> {
        let holders = scene.machine().holders(0);
        Self::by(scene, holders.first().context("nobody holds memory")?.pid)
    }
}

/// In the order in which the issue is told to people.
pub(super) const SITUATIONS: &[Situation] = &[
    Situation {
        name: "another user's process",
        kind: Some("other-tenant"),
        flags: &[],
        needs_root: true,
        make: |scene, _| {
            let pid = scene.hold(&["0=20480", "--user", NOBODY])?;
            Made::by(scene, pid)
        },
        words: &["nobody"],
    },
    Situation {
        name: "an orphan that renamed itself",
        kind: Some("orphan"),
        flags: &[],
        needs_root: false,
        make: |scene, _| {
            let pid = scene.hold(&["0=2048", "--orphan", "--title", ENGINE])?;
            Made::by(scene, pid)
        },
        words: &["orphan", "parent"],
    },
    Situation {
        name: "a dead first thread, others alive",
        kind: Some("zombie-leader"),
        flags: &[],
        needs_root: false,
        make: |scene, _| {
            let pid = scene.hold(&["0=1024", "--zombie-leader"])?;
            Made::by(scene, pid)
        },
        words: &["zombie", "defunct", "no such process", ": ?"],
    },
    Situation {
        name: "in uninterruptible sleep",
        kind: Some("stuck"),
        flags: &["--fault", "stuck=1GiB"],
        needs_root: false,
        make: |scene, folder| {
            let made = Made::by_lab(scene, folder)?;
            wait_until_stuck(made.named[0])?;
            Ok(made)
        },
        words: &["uninterruptible", "disk sleep", "blocked", " d "],
    },
    Situation {
        name: "a process that does not exist",
        kind: Some("ghost"),
        flags: &["--fault", "ghost=1GiB"],
        needs_root: false,
        make: Made::by_lab,
        words: &["ghost", "no such process", ": ?"],
    },
    Situation {
        name: "hidden by a PID namespace",
        kind: Some("hidden"),
        flags: &[],
        needs_root: true,
        make: |scene, _| {
            let pid = scene.hold(&["0=4096"])?;
            let bytes = scene.held(0, pid)?;
            Ok(Made { holders: Vec::new(), named: Vec::new(), bytes, before: CONTAINER })
        },
        words: &["namespace", "container", "no running processes found"],
    },
    Situation {
        name: "a server of the multi-process service",
        kind: Some("mps-server"),
        flags: &[],
        needs_root: false,
        make: |scene, folder| {
            let pid = scene.hold_as(&folder.join(MPS_SERVER), &["0=1024"], 1)?[0];
            // Where the stand-in for the control program finds it.
            std::fs::write(folder.join("server.pid"), pid.to_string())?;
            Made::by(scene, pid)
        },
        words: &["nvidia-cuda-mps-server", "mps"],
    },
    Situation {
        name: "capacity lost to error correction",
        kind: Some("lost-capacity"),
        flags: &["--gpu", "rtx-a6000", "--fault", "ecc"],
        needs_root: false,
        make: |scene, _| {
            let device = scene.machine().device(0)?;
            let bytes = device.model.nvml_total.value - device.nvml_total;
            Ok(Made { holders: Vec::new(), named: Vec::new(), bytes, before: &[] })
        },
        words: &["ecc on", "ecc enabled", "error correction", "lost"],
    },
    Situation {
        name: "eight devices, two in use",
        kind: None,
        flags: &["--gpus", "8"],
        needs_root: false,
        make: |scene, _| {
            let (one, two) = (scene.hold(&["2=512"])?, scene.hold(&["2=256", "5=128"])?);
            let holders = vec![(2, one), (2, two), (5, two)];
            Ok(Made { holders, named: Vec::new(), bytes: 0, before: &[] })
        },
        words: &[],
    },
];

/// The lab's holder takes its memory first, and is stuck a moment later.
fn wait_until_stuck(pid: u32) -> Result<()> {
    for _ in 0..500 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        if stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('D')) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    bail!("process {pid} is not stuck")
}
