//! How the libraries are linked, for their build scripts.
//!
//! The lab's libraries have the names of the vendor's. The dynamic linker knows a library by the name that it
//! carries, its SONAME. Programs are linked against symbols of the vendor's libraries with a version of that
//! name too; without it the dynamic linker prints a warning at every start. Where both major versions of a
//! library are loaded into a process, the versions of their symbols keep them apart.

use std::{env, fs, io, path::Path};

/// Names a file to link with in place of libgcc_s. Set where zig links.
const UNWINDER: &str = "WHYOOM_LIBGCC_S";

/// A library that is loaded into programs of others. Their exceptions pass through it, so it must use the
/// unwinder that they use: libgcc_s. zig would put one of its own into every library.
pub fn loaded() {
    println!("cargo:rerun-if-env-changed={UNWINDER}");
    if let Ok(file) = env::var(UNWINDER) {
        argument(&file);
    }
}

/// Such a library with a SONAME.
pub fn named(soname: &str) {
    loaded();
    argument(&format!("-Wl,-soname,{soname}"));
}

/// Such a library with a SONAME, whose symbols have a version of that name. All exported symbols match a
/// pattern.
pub fn versioned(soname: &str, patterns: &[&str]) -> io::Result<()> {
    named(soname);
    if !is_zig(env::var("RUSTC_LINKER").ok().as_deref()) {
        // An option that only GNU ld has.
        argument("-fuse-ld=bfd");
        argument("-Wl,--default-symver");
        return Ok(());
    }
    // zig's linker does not have it. Of several version scripts it takes the last, which is this and not
    // rustc's: `cargo xtask hardware libraries` looks at the result.
    let script = Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("symbols.map");
    fs::write(&script, version_script(soname, patterns))?;
    argument(&format!("-Wl,--version-script={}", script.display()));
    Ok(())
}

fn argument(argument: &str) {
    println!("cargo:rustc-cdylib-link-arg={argument}");
}

/// Whether this linker is zig, as cargo-zigbuild names it.
fn is_zig(linker: Option<&str>) -> bool {
    let name = linker.and_then(|linker| Path::new(linker).file_name());
    name.is_some_and(|name| name.to_string_lossy().starts_with("zigcc"))
}

fn version_script(soname: &str, patterns: &[&str]) -> String {
    format!("{soname} {{ global: {}; local: *; }};\n", patterns.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zig_is_known_by_the_name_of_its_wrapper() {
        assert!(is_zig(Some("/cache/wrappers/34a/zigcc-x86_64-unknown-linux-gnu.2.17-b9e2.sh")));
        assert!(!is_zig(Some("/home/zigcc/bin/cc")));
        assert!(!is_zig(None));
    }

    #[test]
    fn a_version_script_names_the_version_and_hides_the_rest() {
        let script = version_script("libcudart.so.13", &["cuda*", "__cuda*"]);
        assert_eq!(script, "libcudart.so.13 { global: cuda*; __cuda*; local: *; };\n");
    }
}
