//! Versions of libraries, told apart by where their functions lie.
//!
//! Few sources tell versions. But a function that was called at one line in A, and only at others in B, is of another
//! version of its file.

use std::collections::{BTreeMap, BTreeSet};

use whyoom_memory::is_library_file;
use whyoom_trace::{StackId, Tables};

/// Functions of a package beyond these tell nothing more.
const MOST_FUNCTIONS: usize = 256;
/// Lines of a function that are kept.
const MOST_LINES: usize = 32;

/// Lines by package, and file and function.
#[derive(Debug, Default)]
pub(crate) struct LibraryLines(pub(crate) BTreeMap<String, BTreeMap<String, BTreeSet<u32>>>);

impl LibraryLines {
    /// Those of all stacks.
    pub(crate) fn of(tables: &Tables) -> Self {
        let mut lines = Self::default();
        let stacks = (0..tables.stack_count()).filter_map(|stack| u32::try_from(stack).ok());
        stacks.for_each(|stack| lines.note(tables, StackId(stack)));
        lines
    }

    fn note(&mut self, tables: &Tables, stack: StackId) {
        for frame in tables.frames(stack).filter(|frame| frame.is_python() && frame.line > 0) {
            let Some(package) = package_of(frame.file) else { continue };
            if !self.0.contains_key(package) {
                self.0.insert(package.to_owned(), BTreeMap::new());
            }
            let Some(functions) = self.0.get_mut(package) else { continue };
            let function = frame.function.rsplit('.').next().unwrap_or_default();
            let name = format!("{} {function}", tail_of(frame.file));
            if functions.len() < MOST_FUNCTIONS || functions.contains_key(&name) {
                let lines = functions.entry(name).or_default();
                if lines.len() < MOST_LINES {
                    lines.insert(frame.line);
                }
            }
        }
    }
}

/// The package that a library's file is of; Python's own is `python`.
pub(crate) fn package_of(file: &str) -> Option<&str> {
    if !is_library_file(file) {
        return None;
    }
    let after = ["site-packages/", "dist-packages/"]
        .iter()
        .find_map(|folder| file.rfind(folder).map(|at| &file[at + folder.len()..]));
    match after {
        Some(path) => path.split('/').next().map(|name| name.trim_end_matches(".py")),
        None => Some("python"),
    }
}

/// A library's file, without the folders before it.
pub(crate) fn tail_of(file: &str) -> &str {
    for folder in ["site-packages/", "dist-packages/"] {
        if let Some(at) = file.rfind(folder) {
            return &file[at + folder.len()..];
        }
    }
    match file.rfind("/lib/python") {
        Some(at) => file[at + 1..].splitn(3, '/').nth(2).unwrap_or(file),
        None => file,
    }
}

/// The packages of which a function lies elsewhere in B, with one such: file and function, its lines in A and in B.
pub(crate) fn moved(
    a: &BTreeMap<String, BTreeMap<String, BTreeSet<u32>>>,
    b: &BTreeMap<String, BTreeMap<String, BTreeSet<u32>>>,
) -> Vec<(String, String, u32, u32)> {
    let mut moved = Vec::new();
    for (package, functions) in a {
        let Some(others) = b.get(package) else { continue };
        let elsewhere = functions.iter().find_map(|(name, lines)| {
            let other = others.get(name)?;
            let apart =
                lines.is_disjoint(other) && lines.len() < MOST_LINES && other.len() < MOST_LINES;
            apart.then_some((name, *lines.first()?, *other.first()?))
        });
        // One that calls another line of its own is no other version: none may lie where it lay.
        let stays = functions
            .iter()
            .any(|(name, lines)| others.get(name).is_some_and(|other| !lines.is_disjoint(other)));
        if let (Some((name, was, is)), false) = (elsewhere, stays) {
            moved.push((package.clone(), name.clone(), was, is));
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_packages() {
        let torch = "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py";
        assert_eq!(
            (package_of(torch), tail_of(torch)),
            (Some("torch"), "torch/nn/modules/linear.py")
        );
        let threading = "/usr/lib/python3.12/threading.py";
        assert_eq!((package_of(threading), tail_of(threading)), (Some("python"), "threading.py"));
        assert_eq!(package_of("/home/me/train.py"), None);
    }

    #[test]
    fn a_function_that_lies_elsewhere_is_of_another_version() {
        let lines = |rows: &[(&str, u32)]| {
            let functions =
                rows.iter().map(|(name, line)| ((*name).to_owned(), BTreeSet::from([*line])));
            BTreeMap::from([("torch".to_owned(), functions.collect::<BTreeMap<_, _>>())])
        };
        let a = lines(&[("m.py f", 10), ("m.py g", 20)]);
        assert_eq!(moved(&a, &a), vec![]);
        let b = lines(&[("m.py f", 11), ("m.py g", 22)]);
        assert_eq!(moved(&a, &b), vec![("torch".to_owned(), "m.py f".to_owned(), 10, 11)]);
        assert_eq!(moved(&a, &lines(&[("m.py f", 10), ("m.py g", 22)])), vec![], "another call");
    }
}
