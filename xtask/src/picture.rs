//! `cargo xtask picture`: the README's pictures, rendered from what the commands really print.

use std::{fs, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Held, Need, Scene, SceneStage, root};

const VERDICT: &str = "docs/verdict.svg";
const SHOWN: &str = "tests/fixtures/snapshots/fragmented-oom.pickle";

/// What is run in a lab where an orphan and another user's process hold memory.
const LIVE: &[(&str, &[&str])] = &[("docs/who.svg", &["who"]), ("docs/top.svg", &["top", "-1"])];

/// Units of time, before which an age stands.
const TIMES: &[&str] = &["ms", "s", "min", "h", "d"];

pub(crate) fn run(bless: bool) -> Result<Held> {
    Need::Root.met()?;
    let stage = SceneStage::ready()?;
    let mut why = Command::new(stage.build.whyoom());
    why.args(["why", SHOWN]).current_dir(root());
    let verdict = rendered(&mut why, "whyoom why oom.pickle")?;
    keep(VERDICT, &verdict, bless, |picture| vec![picture.to_owned()])?;
    let scene = Scene::of_picture(&stage)?;
    for (picture, words) in LIVE {
        let mut command = scene.command(scene.whyoom());
        let title = format!("whyoom {}", words.join(" "));
        let now = rendered(command.args(*words), &title)?;
        keep(picture, &now, bless, told)?;
    }
    Ok(Held::new(format!("{VERDICT}, who.svg and top.svg are what whyoom prints")))
}

/// What a command prints, as a picture with that title.
pub(crate) fn rendered(command: &mut Command, title: &str) -> Result<String> {
    let coloured = command
        .env("CLICOLOR_FORCE", "1")
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("NO_COLOR");
    let output = coloured.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout)?;
    // A page for scripts has none.
    let plain = title.ends_with("-1");
    ensure!(plain || printed.contains('\u{1b}'), "{title}: no colours were printed");
    Ok(anstyle_svg::Term::new().render_svg(&format!("$ {title}\n{printed}")))
}

/// Sees that a picture shows what is printed now, as far as `told` keeps it, or writes it where it
/// does not.
pub(crate) fn keep(
    picture: &str,
    now: &str,
    bless: bool,
    told: fn(&str) -> Vec<String>,
) -> Result<()> {
    let path = root().join(picture);
    if bless && !fs::read_to_string(&path).is_ok_and(|kept| told(&kept) == told(now)) {
        fs::write(&path, now)?;
    }
    let kept = fs::read_to_string(&path).with_context(|| picture.to_owned())?;
    let (kept, now) = (told(&kept), told(now));
    ensure!(
        kept == now,
        "{picture} is out of date: cargo xtask picture --bless\nkept: {}\nnow:  {}",
        kept.join(" "),
        now.join(" ")
    );
    Ok(())
}

/// The words of a picture without what differs from run to run: numbers of processes, ages, and the
/// notes at the end on what cannot be seen on this machine.
pub(crate) fn told(picture: &str) -> Vec<String> {
    let text = without_tags(picture);
    let end = ["Note: ", "note: "].iter().filter_map(|note| text.find(note)).min();
    let text = &text[..end.unwrap_or(text.len())];
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_age = |place: usize| words.get(place + 1).is_some_and(|next| TIMES.contains(next));
    let told = words.iter().enumerate().filter(|(place, _)| !is_age(*place));
    told.map(|(_, word)| steady(word)).collect()
}

/// A whole number that stands alone is a process's; with colons it is the time of day.
fn steady(word: &str) -> String {
    let number = word.trim_matches(|edge: char| !edge.is_ascii_alphanumeric());
    let of_number = |byte: u8| byte.is_ascii_digit() || byte == b':';
    let is_number = !number.is_empty() && number.bytes().all(of_number);
    if is_number { word.replace(number, "N") } else { word.to_owned() }
}

fn without_tags(picture: &str) -> String {
    // What styles say stands between tags too, and is not shown.
    let shown = picture.split_once("</style>").map_or(picture, |(_, shown)| shown);
    let pieces =
        shown.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    pieces.collect()
}
