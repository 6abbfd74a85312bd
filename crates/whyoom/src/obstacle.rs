//! What keeps the recorder out of a program: told before it runs where that is certain, and when nothing
//! was recorded.

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use rustix::{
    fs::getxattr,
    process::{getgid, getuid},
};

use crate::{executable::Executable, on_path::find};

/// A program's capabilities are in this attribute of its file.
const CAPABILITIES: &str = "security.capability";
const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;

/// How sure it is that nothing can be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sureness {
    /// Programs that it starts may still be recorded.
    Possible,
    /// Nothing of it can be.
    Certain,
    /// Nothing can be, and with the recorder in it the program would not even start.
    Fatal,
}

/// What keeps the recorder out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) sureness: Sureness,
    pub(crate) why: String,
    /// What to type instead.
    pub(crate) instead: String,
}

impl Obstacle {
    /// That of a command, where there is one.
    pub(crate) fn of(command: &[OsString]) -> Option<Self> {
        let name = command.first()?;
        let file = find(name)?;
        by_name(&file).or_else(|| by_rights(name, &file)).or_else(|| by_kind(name, &file))
    }

    /// What to say before the program runs, where it is certain.
    pub(crate) fn warning(&self) -> Option<String> {
        let consequence = match self.sureness {
            Sureness::Possible => return None,
            Sureness::Certain => "nothing will be recorded",
            Sureness::Fatal => "it is not recorded",
        };
        Some(format!("{}: {consequence}; {}", self.why, self.instead))
    }
}

/// Programs that have others started elsewhere: what they are called, how, and where whyoom belongs.
const STARTERS: &[(&[&str], Sureness, &str, &str)] = &[
    (
        &["sudo", "doas", "su", "pkexec", "runuser"],
        Sureness::Certain,
        "removes the recorder from the environment of the program it starts",
        "run whyoom under it: sudo \"$(command -v whyoom)\" run -- PROGRAM",
    ),
    (
        &["docker", "podman", "nerdctl", "docker-compose"],
        Sureness::Certain,
        "starts the program in a container, without the recorder",
        "install whyoom in the image and start it there: docker run … IMAGE whyoom run -- PROGRAM",
    ),
    (
        &["kubectl", "oc"],
        Sureness::Certain,
        "starts the program in a pod, without the recorder",
        "install whyoom in the image and start it there: kubectl exec POD -- whyoom run -- PROGRAM",
    ),
    (
        &["ssh", "mosh", "pdsh", "sbatch", "qsub", "bsub"],
        Sureness::Certain,
        "starts the program on another machine, or later",
        "prefix the program there: whyoom run -- PROGRAM",
    ),
    (
        &["tmux", "screen", "systemd-run", "at"],
        Sureness::Possible,
        "starts the program from its own server",
        "prefix the program itself: whyoom run -- PROGRAM",
    ),
    (
        &["srun", "mpirun", "mpiexec", "apptainer", "singularity", "ray"],
        Sureness::Possible,
        "may start the program on other machines, or in a container",
        "prefix the program itself, so that each process records its own run: srun whyoom run -- \
         PROGRAM",
    ),
];

fn by_name(file: &Path) -> Option<Obstacle> {
    let name = file.file_name().and_then(OsStr::to_str)?;
    let known = STARTERS.iter().find(|(names, ..)| names.contains(&name));
    let (_, sureness, why, instead) = known?;
    let (why, instead) = (format!("{name} {why}"), (*instead).to_owned());
    Some(Obstacle { sureness: *sureness, why, instead })
}

/// Programs that get rights of their own load nothing that the environment names.
fn by_rights(name: &OsStr, file: &Path) -> Option<Obstacle> {
    let about = fs::metadata(file).ok()?;
    let mode = about.permissions().mode();
    let user = getuid();
    let what = if mode & SETUID != 0 && about.uid() != user.as_raw() {
        "setuid"
    } else if mode & SETGID != 0 && about.gid() != getgid().as_raw() {
        "setgid"
    } else if !user.is_root() && getxattr(file, CAPABILITIES, &mut [0_u8; 64]).is_ok() {
        "given capabilities"
    } else {
        return None;
    };
    let (name, path) = (name.to_string_lossy(), file.display());
    Some(Obstacle {
        sureness: Sureness::Certain,
        why: format!("{name} is {what}, so LD_PRELOAD is ignored for it"),
        instead: format!(
            "record a copy without these privileges: cp {path} ./copy; whyoom run -- ./copy"
        ),
    })
}

fn by_kind(name: &OsStr, file: &Path) -> Option<Obstacle> {
    let name = name.to_string_lossy();
    let mut executable = Executable::read(file).ok()?;
    if let Executable::Script { interpreter } = &executable {
        let interpreted = Executable::read(interpreter).ok()?;
        // Of an interpreter that loads nothing, what it starts may still be recorded.
        executable = if interpreted.is_musl() { interpreted } else { return None };
    }
    let (sureness, why) = match &executable {
        executable if executable.is_musl() => {
            (Sureness::Fatal, format!("{name} is built for musl, but the recorder for glibc"))
        }
        Executable::Program { loader: None } => (
            Sureness::Possible,
            format!("{name} is statically linked and cannot load the recorder"),
        ),
        Executable::Foreign { built_for } => (
            Sureness::Possible,
            format!("{name} is built for {built_for}, but the recorder is not"),
        ),
        _ => return None,
    };
    let instead = match sureness {
        Sureness::Fatal => "run a glibc build, in an image other than Alpine",
        _ => "if it starts the program that uses CUDA, prefix that one with whyoom",
    };
    Some(Obstacle { sureness, why, instead: instead.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &str) -> Option<Obstacle> {
        Obstacle::of(&[OsString::from(file)])
    }

    #[test]
    fn starters_are_known_by_their_names() {
        for (name, sureness, where_to) in [
            ("/usr/bin/sudo", Sureness::Certain, "command -v whyoom"),
            ("/opt/docker", Sureness::Certain, "docker run"),
            ("/usr/bin/kubectl", Sureness::Certain, "kubectl exec"),
            ("/usr/bin/ssh", Sureness::Certain, "there"),
            ("/usr/bin/srun", Sureness::Possible, "srun whyoom run"),
        ] {
            let obstacle = of(name).expect("a starter");
            assert_eq!(obstacle.sureness, sureness, "{name}");
            assert!(obstacle.instead.contains(where_to), "{obstacle:?}");
        }
    }

    #[test]
    fn ordinary_programs_have_none() {
        assert_eq!(of("sh"), None);
        assert_eq!(of("no-such-program-anywhere"), None);
        let own = std::env::current_exe().expect("our own file");
        assert_eq!(Obstacle::of(&[own.into_os_string()]), None);
    }
}
