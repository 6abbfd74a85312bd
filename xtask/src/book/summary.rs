//! Which pages the book has, and which lie in its folder. Pages for developers, in `dev`, are not part of it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

use super::page::files;

/// Folder of the pages for developers.
const DEVELOPERS: &str = "dev";

/// Checks that `SUMMARY.md` names every page of the book once. Returns the number of pages.
pub(super) fn check(docs: &Path) -> Result<usize> {
    let summary = fs::read_to_string(docs.join("SUMMARY.md"))?;
    let listed: Vec<PathBuf> = linked(&summary).map(PathBuf::from).collect();
    let named: BTreeSet<_> = listed.iter().cloned().collect();
    ensure!(named.len() == listed.len(), "SUMMARY.md names a page twice");
    let pages = files(docs, "md")?;
    let inside = |page: &PathBuf| Ok(page.strip_prefix(docs)?.to_owned());
    let mut pages = pages.iter().map(inside).collect::<Result<BTreeSet<_>>>()?;
    pages.remove(Path::new("SUMMARY.md"));
    pages.retain(|page| !page.starts_with(DEVELOPERS));
    let left_out: Vec<_> = pages.difference(&named).map(|page| page.display()).collect();
    ensure!(left_out.is_empty(), "not in docs/SUMMARY.md: {left_out:?}");
    let absent: Vec<_> = named.difference(&pages).map(|page| page.display()).collect();
    ensure!(absent.is_empty(), "docs/SUMMARY.md names what is not there: {absent:?}");
    Ok(pages.len())
}

/// What the links of a page lead to.
pub(super) fn linked(page: &str) -> impl Iterator<Item = &str> {
    page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(file, _)| file)
}

#[cfg(test)]
mod tests {
    use super::linked;

    #[test]
    fn links_of_a_summary() {
        let summary = "# Summary\n[Start](README.md)\n- [A (b)](a.md)\n  - [C](d/c.md)\n";
        assert_eq!(linked(summary).collect::<Vec<_>>(), ["README.md", "a.md", "d/c.md"]);
    }
}
