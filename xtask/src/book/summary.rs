//! Which pages the book has, and which lie in its folder.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

/// Sees that `SUMMARY.md` names every page in the folder, once; how many there are.
pub(super) fn check(docs: &Path) -> Result<usize> {
    let summary = fs::read_to_string(docs.join("SUMMARY.md"))?;
    let listed: Vec<PathBuf> = listed(&summary).map(PathBuf::from).collect();
    let named: BTreeSet<_> = listed.iter().cloned().collect();
    ensure!(named.len() == listed.len(), "SUMMARY.md names a page twice");
    let mut pages = BTreeSet::new();
    collect(docs, docs, &mut pages)?;
    pages.remove(Path::new("SUMMARY.md"));
    let left_out: Vec<_> = pages.difference(&named).map(|page| page.display()).collect();
    ensure!(left_out.is_empty(), "not in docs/SUMMARY.md: {left_out:?}");
    let absent: Vec<_> = named.difference(&pages).map(|page| page.display()).collect();
    ensure!(absent.is_empty(), "docs/SUMMARY.md names what is not there: {absent:?}");
    Ok(pages.len())
}

/// The files that a summary's links lead to.
fn listed(summary: &str) -> impl Iterator<Item = &str> {
    summary.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(file, _)| file)
}

fn collect(docs: &Path, folder: &Path, pages: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(docs, &path, pages)?;
        } else if path.extension().is_some_and(|ending| ending == "md") {
            pages.insert(path.strip_prefix(docs)?.to_owned());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn links_of_a_summary() {
        let summary = "# Summary\n[Start](README.md)\n- [A (b)](a.md)\n  - [C](d/c.md)\n";
        assert_eq!(listed(summary).collect::<Vec<_>>(), ["README.md", "a.md", "d/c.md"]);
    }
}
