//! Where a wheel is used: on this machine, in an older system, on another processor.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use harness::{Architecture, cache, must_succeed, root, scratch};

/// A system, by the words that enter it.
#[derive(Debug, Clone, Default)]
pub(super) struct System {
    enter: Vec<String>,
}

/// Starts a program where the kernel gives files of aarch64 to qemu, and their C library lies beside this
/// machine's: in namespaces of its own, so that nothing stays. A variable would do for the C library, but tests
/// start programs without any.
const EMULATED: &str = r#"
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf '%s' ':aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:' \
    >/proc/sys/fs/binfmt_misc/register
mount -t overlay overlay -o lowerdir=/usr/lib:/usr/aarch64-linux-gnu/lib /usr/lib
exec "$@"
"#;

/// Starts a program in another root folder, where the given folders are where they are here.
const CHROOT: &str = r#"
system=$1 folders=$2
shift 2
for folder in /proc /dev /tmp $folders; do
    mkdir -p "$system$folder"
    mount --rbind "$folder" "$system$folder"
done
exec chroot "$system" "$@"
"#;

impl System {
    /// This machine.
    pub(super) fn own() -> Self {
        Self::default()
    }

    /// A machine with another processor, as far as qemu is one.
    pub(super) fn emulated(architecture: Architecture) -> Result<Self> {
        if architecture == Architecture::host()? {
            return Ok(Self::own());
        }
        ensure!(architecture == Architecture::Aarch64, "only aarch64 is emulated");
        let needed = ["/usr/bin/qemu-aarch64-static", "/usr/aarch64-linux-gnu/lib/libc.so.6"];
        for file in needed {
            ensure!(Path::new(file).exists(), "{file} is missing: see stage_wheels of .ci/run");
        }
        let words =
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", EMULATED, "sh"];
        Ok(Self { enter: words.map(str::to_owned).to_vec() })
    }

    /// Returns an older release of a distribution, as debootstrap installs it, kept in the cache folder. Without a mirror
    /// it comes from the one that debootstrap itself has for the release.
    pub(super) fn older(suite: &str, mirror: Option<&str>, packages: &str) -> Result<Self> {
        let folder = cache().join("systems").join(suite);
        if !folder.join("bin/sh").exists() {
            install(suite, mirror, packages, &folder)?;
        }
        let folders = format!("{} {}", root().display(), scratch("fresh")?.display());
        let folder = folder.display().to_string();
        let words = ["unshare", "--mount", "sh", "-ec", CHROOT, "sh", &folder, &folders];
        Ok(Self { enter: words.map(str::to_owned).to_vec() })
    }

    /// A program in it.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        match &self.enter[..] {
            [] => Command::new(program.as_ref()),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(program.as_ref());
                command
            }
        }
    }
}

/// Installs into another folder first: what is cut short is not taken for a system.
fn install(suite: &str, mirror: Option<&str>, packages: &str, folder: &Path) -> Result<()> {
    let unfinished: PathBuf = folder.with_added_extension("new");
    if unfinished.exists() {
        std::fs::remove_dir_all(&unfinished)?;
    }
    std::fs::create_dir_all(&unfinished)?;
    println!("installing {suite}");
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.args(["--variant=minbase", "--include", packages, suite]).arg(&unfinished);
    let log = unfinished.with_extension("log");
    debootstrap.args(mirror).stdout(std::fs::File::create(&log)?);
    must_succeed(&mut debootstrap).with_context(|| format!("see {}", log.display()))?;
    if std::fs::rename(&unfinished, folder).is_err() {
        bail!("{} cannot be renamed", unfinished.display());
    }
    Ok(())
}
