//! Where this is: a container, WSL, other libraries in every process, the C library.

use std::{path::Path, process::Command};

use crate::{outcome::Outcome, surroundings::Surroundings};

/// Libraries that have nothing to do with the driver: other allocators of the host's memory.
const OTHERS: [&str; 4] = ["libjemalloc", "libtcmalloc", "libmimalloc", "libfakeroot"];
/// Libraries that the lab loads into programs.
const LABS: [&str; 4] = ["libcudart.so", "libcublas", "libcudnn.so", "libnccl.so"];
/// The variable that tells a program that it is in the lab.
const LAB: &str = "WHYOOM_LAB";

pub(super) fn run() -> Outcome {
    let here = Surroundings::look();
    let kinds = [(here.container, "a container"), (here.wsl, "WSL")];
    let kinds: Vec<&str> = kinds.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    let kind = if kinds.is_empty() { "Linux".to_owned() } else { kinds.join(", ") };
    let found = format!("{kind} on {}, {}", std::env::consts::ARCH, glibc());
    let strangers = strangers();
    if strangers.is_empty() {
        return Outcome::ok(found);
    }
    Outcome::differs(
        format!("{found}; every program loads {}", strangers.join(", ")),
        "another library may stand between programs and the driver. If it keeps a quota by its own dlsym, as HAMi does, \
         whyoom run leaves it in force",
    )
}

/// Its version, as the system's own command tells it.
fn glibc() -> String {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let told = told.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    told.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "an unknown C library".to_owned())
}

/// The names of libraries that are loaded into every program, without their folders.
fn strangers() -> Vec<String> {
    let variable = std::env::var("LD_PRELOAD").unwrap_or_default();
    let file = whyoom_files::kernel::text("/etc/ld.so.preload").unwrap_or_default();
    let separates = |c: char| c == ':' || c.is_whitespace();
    let paths = variable.split(separates).chain(file.split(separates));
    let names = paths.filter_map(|path| Path::new(path).file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let labs = if std::env::var_os(LAB).is_some() { &LABS[..] } else { &[] };
    let is_known = |name: &String| {
        let mut known = labs.iter().chain(&OTHERS).chain(&["libwhyoom"]);
        known.any(|known| name.starts_with(known))
    };
    names.filter(|name| !is_known(name)).collect()
}
