//! Part `sessions`: the commands that pages show, typed on a simulated GPU, and their pictures.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use harness::{Build, Held, environment, root, scratch};

use super::{
    Wish,
    page::{docs, files, keep},
    replaced::Replaced,
    session,
};
use crate::picture;

/// `<!-- picture: FILE COMMAND -->`: the page shows FILE, which is what the command prints, in colour.
const PICTURE: &str = "<!-- picture: ";

pub(super) fn run(wish: &Wish) -> Result<Held> {
    let mut pages = files(&docs(), "md")?;
    pages.retain(|page| wish.only.as_ref().is_none_or(|only| page.ends_with(format!("{only}.md"))));
    let build = Build::ready()?;
    let (mut shown_on, mut sessions, mut pictures) = (0, 0, 0);
    for page in &pages {
        let written = fs::read_to_string(page)?;
        let count = session::count(&written);
        if count == 0 {
            continue;
        }
        let name = page.strip_prefix(docs())?.display().to_string();
        let (folder, path) = prepared(build, page)?;
        let replaced = Replaced::new(&folder, &[&python()?, &environment("torch")?], &library()?);
        let now = session::typed(&written, &folder, &path, &replaced)
            .with_context(|| format!("docs/{name}"))?;
        keep(&name, &now, wish.bless)?;
        (shown_on, sessions) = (shown_on + 1, sessions + count);
        pictures += shown(build, page, &folder, wish.bless)?;
        println!("docs/{name}");
    }
    ensure!(sessions > 0, "no page has a session");
    Ok(Held::new(format!(
        "{sessions} sessions and {pictures} pictures on {shown_on} pages are what the commands print"
    )))
}

/// An empty folder with the programs beside a page, and the path on which commands are found.
fn prepared(build: &Build, page: &Path) -> Result<(PathBuf, String)> {
    let name = page.file_stem().context("a page without a name")?;
    let folder = scratch("book")?.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for program in fs::read_dir(page.with_file_name("programs"))? {
        let program = program?;
        fs::copy(program.path(), folder.join(program.file_name()))?;
    }
    let python = python()?.join("bin");
    let rest = std::env::var("PATH").context("no PATH")?;
    let path = format!("{}:{}:{rest}", build.folder().display(), python.display());
    Ok((fs::canonicalize(folder)?, path))
}

/// The Python environment by a path that is equally long on every machine: commands are cut to a
/// width where they are shown.
fn python() -> Result<PathBuf> {
    let link = std::env::temp_dir().join("whyoom-book-venv");
    let real = environment("torch")?;
    if fs::read_link(&link).ok().as_ref() != Some(&real) {
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&real, &link)
            .with_context(|| format!("cannot make {}", link.display()))?;
    }
    Ok(link)
}

/// Where Python itself has its modules: each machine has its own.
fn library() -> Result<String> {
    let python = environment("torch")?.join("bin/python");
    let script = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let output = Command::new(python).args(["-c", script]).output()?;
    ensure!(output.status.success(), "Python does not say where its modules are");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Makes the pictures of a page.
fn shown(build: &Build, page: &Path, folder: &Path, bless: bool) -> Result<usize> {
    let written = fs::read_to_string(page)?;
    let asked = written.lines().filter_map(|line| line.strip_prefix(PICTURE));
    let mut count = 0;
    for line in asked {
        let line =
            line.strip_suffix(" -->").context("a picture's line does not end with ' -->'")?;
        let (file, command) = line.split_once(' ').context("a picture without a command")?;
        let mut words = command.split_whitespace();
        ensure!(words.next() == Some("whyoom"), "{command}: pictures are of whyoom");
        let mut whyoom = Command::new(build.whyoom());
        whyoom.args(words).current_dir(folder);
        let svg = picture::rendered(&mut whyoom, command)?;
        let place = page.with_file_name(file);
        let place = place.strip_prefix(root())?.display().to_string();
        picture::keep(&place, &svg, bless, picture::told)?;
        count += 1;
    }
    Ok(count)
}
