//! The scene of the README's pictures.

use anyhow::Result;

use crate::scene::{Scene, Stage};

/// The web server's number on Debian and its kin: "nobody" reads as if it were no one.
const WEB_SERVER: &str = "33";

impl Scene {
    /// An orphan and another user's process at once.
    pub fn of_picture(stage: &Stage) -> Result<Self> {
        let mut scene = Self::start(stage, &["--gpu", "rtx-4090"])?;
        scene.hold(&["0=14336", "--orphan", "--title", "VLLM::EngineCor"])?;
        scene.hold(&["0=6144", "--title", "python train.py", "--user", WEB_SERVER])?;
        Ok(scene)
    }
}
