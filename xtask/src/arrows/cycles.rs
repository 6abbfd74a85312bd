//! Import cycles between the files of a crate: a file that uses another is not used by it, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use cargo_metadata::{Package, TargetKind};

use super::modules::{Modules, Uses};

/// Appends the import cycles of all crates; how many files were read.
pub(super) fn check(packages: &[Package], wrong: &mut Vec<String>) -> Result<usize> {
    let mut read = BTreeSet::new();
    for package in packages {
        let folder =
            package.manifest_path.parent().map_or(Path::new(""), |path| path.as_std_path());
        for target in package.targets.iter().filter(|target| is_product(&target.kind)) {
            let uses = Modules::of(target.src_path.as_std_path())?.uses();
            for files in cycles(&uses) {
                let first = below(folder, files[0]);
                let cycle = format!(
                    "{} files from {}/{first} on use each other",
                    files.len(),
                    package.name
                );
                print(&cycle, &files, &uses, folder);
                wrong.push(cycle);
            }
            read.extend(uses.into_keys());
        }
    }
    Ok(read.len())
}

/// Every use inside the cycle, because any of them may be the one to remove.
fn print(cycle: &str, files: &[&PathBuf], uses: &Uses, folder: &Path) {
    println!("import cycle: {cycle}");
    for file in files {
        for (used, names) in uses[*file].iter().filter(|(used, _)| files.contains(used)) {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            println!("  {} → {}: {}", below(folder, file), below(folder, used), names.join(", "));
        }
    }
}

fn below(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder).unwrap_or(file).display().to_string()
}

fn is_product(kinds: &[TargetKind]) -> bool {
    use TargetKind::{Bin, CDyLib, Lib, RLib};
    kinds.iter().any(|kind| matches!(kind, Bin | CDyLib | Lib | RLib))
}

/// Files that reach each other.
fn cycles(uses: &Uses) -> Vec<Vec<&PathBuf>> {
    let reach: BTreeMap<_, _> = uses.keys().map(|file| (file, reached(uses, file))).collect();
    let mut cycles = Vec::new();
    for file in uses.keys() {
        let cycle: Vec<_> = uses
            .keys()
            .filter(|other| reach[file].contains(other) && reach[other].contains(&file))
            .collect();
        // Reported once, by its first file.
        if cycle.len() > 1 && cycle[0] == file {
            cycles.push(cycle);
        }
    }
    cycles
}

fn reached<'a>(uses: &'a Uses, from: &'a PathBuf) -> BTreeSet<&'a PathBuf> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        for next in uses.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}
