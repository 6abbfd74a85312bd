//! Part `built`: mdBook builds the book, every page is in it, and every link inside it leads somewhere.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use harness::{Held, cache, fresh, must_succeed, root};

use super::{
    html,
    page::{docs, files},
    summary,
};

/// The build of the book in the gate takes no longer.
const MOST_SECONDS: f64 = 20.0;

pub(super) fn run() -> Result<Held> {
    let pages = summary::check(&docs())?;
    // The place of `docs` in a copy of the checkout: pages link to files beside it.
    let checkout = fresh("book")?;
    let book = checkout.join("docs");
    let started = Instant::now();
    must_succeed(mdbook().arg("build").arg(docs()).arg("--dest-dir").arg(&book))?;
    let seconds = started.elapsed().as_secs_f64();
    ensure!(seconds < MOST_SECONDS, "mdBook took {seconds:.1} s");
    let links = check(&checkout, &book)?;
    println!("{}", book.join("index.html").display());
    Ok(Held::new(format!("{pages} pages, {links} links lead somewhere, built in {seconds:.1} s")))
}

/// mdBook, as the gate installs it or as it is on the path.
fn mdbook() -> Command {
    let installed = cache().join("tools/bin/mdbook");
    Command::new(if installed.exists() { installed } else { "mdbook".into() })
}

/// Follows every link of every built page; how many there are.
fn check(checkout: &Path, book: &Path) -> Result<usize> {
    let read = |path: PathBuf| Ok((path.clone(), fs::read_to_string(path)?));
    let pages = files(book, "html")?.into_iter().map(read).collect::<Result<BTreeMap<_, _>>>()?;
    let (mut count, mut dead) = (0, Vec::new());
    for (path, page) in &pages {
        for link in html::links(page) {
            if ["http://", "https://", "data:", "mailto:", "javascript:"]
                .iter()
                .any(|scheme| link.starts_with(scheme))
            {
                continue;
            }
            count += 1;
            if !leads(checkout, &pages, path, link)? {
                dead.push(format!("{}: {link}", path.strip_prefix(book)?.display()));
            }
        }
    }
    ensure!(dead.is_empty(), "{} links lead nowhere:\n  {}", dead.len(), dead.join("\n  "));
    Ok(count)
}

/// Whether a link of a page leads to something. A file of the checkout is put where it is looked for.
fn leads(
    checkout: &Path,
    pages: &BTreeMap<PathBuf, String>,
    from: &Path,
    link: &str,
) -> Result<bool> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = from.parent().context("a page without a folder")?;
    let target = if file.is_empty() { from.to_owned() } else { resolved(&folder.join(file)) };
    let target = if target.is_dir() { target.join("index.html") } else { target };
    if !target.exists() && !borrowed(checkout, &target)? {
        return Ok(false);
    }
    let page = pages.get(&target);
    Ok(anchor.is_empty() || page.is_some_and(|page| html::anchors(page).contains(anchor)))
}

/// Copies a file of the checkout that lies beside `docs` to where the built book links to it.
fn borrowed(checkout: &Path, target: &Path) -> Result<bool> {
    let Ok(inside) = target.strip_prefix(checkout) else { return Ok(false) };
    let source = root().join(inside);
    if inside.starts_with("docs") || !source.is_file() {
        return Ok(false);
    }
    fs::create_dir_all(target.parent().context("a file without a folder")?)?;
    fs::copy(source, target)?;
    Ok(true)
}

/// A path without `..` and `.`.
fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}
