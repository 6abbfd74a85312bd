//! `cargo xtask picture`: the README's picture, rendered from what the command really prints.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tools::{root, whyoom};

const PICTURE: &str = "docs/verdict.svg";
const SHOWN: &str = "tests/fixtures/snapshots/fragmented-oom.pickle";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let output = Command::new(whyoom()?)
        .args(["why", SHOWN])
        .env("CLICOLOR_FORCE", "1")
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .current_dir(root())
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout)?;
    ensure!(printed.contains('\u{1b}'), "no colours were printed");
    let terminal =
        anstyle_svg::Term::new().render_svg(&format!("$ whyoom why oom.pickle\n{printed}"));
    let path = root().join(PICTURE);
    if arguments.contains(&"--bless".to_owned()) {
        std::fs::write(&path, &terminal)?;
    }
    let committed = std::fs::read_to_string(&path).with_context(|| PICTURE)?;
    ensure!(committed == terminal, "{PICTURE} is out of date: cargo xtask picture --bless");
    println!("picture: {PICTURE} is what whyoom prints");
    Ok(())
}
