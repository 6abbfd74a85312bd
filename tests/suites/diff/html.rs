//! The page of a comparison, in a real browser.

use std::{path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use harness::{Build, Check, Held, Look, Trial, from_slice, look, python, root, text};
use serde_json::Value;
use whyoom_trace::Bytes;

/// Names of inputs are on the page.
const HOSTILE: &str = "<img src=x onerror=window.owned=1>";
const PAIR: &str = "gpt-wider-mlp";
const SIZES: [(u32, u32); 2] = [(1400, 900), (390, 844)];
const SECTIONS: [&str; 5] = ["answer", "timeline", "breakdown", "changes", "flames"];
/// What is read off the page.
const ASKED: &str = "({
  heading: document.querySelector('h1').textContent,
  runs: document.querySelector('.runs').textContent,
  sections: [...document.querySelectorAll('main > section')].map((one) => one.id),
  rows: [...document.querySelectorAll('#breakdown tbody tr')]
    .map((row) => [...row.children].map((cell) => cell.textContent)),
  modules: [...document.querySelectorAll('#changes tbody tr')]
    .map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent)),
  flames: [...document.querySelectorAll('#flames .flame')].every((one) => one.ariaLabel),
  images: document.images.length,
  owned: window.owned ?? null,
  too_wide: document.documentElement.scrollWidth - innerWidth,
})";

pub(super) fn checks() -> Vec<Check> {
    vec![Check::new("html", opens)]
}

fn opens() -> Result<Held> {
    let run = |side: &str| -> Result<String> {
        let program = root().join(format!("tests/scenarios/diff/{PAIR}/{side}.py"));
        let trial = Trial::new("80GiB", &[python()?, text(&program)]);
        let recorded =
            trial.recorded_with(&format!("diff/html-{side}-{HOSTILE}"), &["--modules"])?;
        ensure!(recorded.ran.status == 0, "{}", recorded.ran.stderr);
        Ok(text(&recorded.folder))
    };
    let (a, b) = (run("a")?, run("b")?);
    let file = Path::new(&b).with_file_name("diff-html.html");
    let mut whyoom = Command::new(Build::ready()?.whyoom());
    let asked =
        whyoom.args(["diff", &a, &b, "--json", "--force", "--report"]).arg(&file).output()?;
    ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
    let json: Value = from_slice(&asked.stdout)?;
    let looks: Vec<Look> = SIZES
        .into_iter()
        .flat_map(|size| ["light", "dark"].map(|scheme| opened(&file, size, scheme)))
        .collect();
    let seen = look(&looks)?;
    for (look, seen) in looks.iter().zip(&seen) {
        let context = || format!("{} pixels, {}", look.width, look.scheme);
        is_whole(&seen.answer).with_context(context)?;
        has_figures(&seen.answer, &json).with_context(context)?;
    }
    Ok(Held::new(format!(
        "names that are markup: the page opened {} times, no request, no script; its figures are those of --json",
        seen.len()
    )))
}

fn opened(file: &Path, (width, height): (u32, u32), scheme: &'static str) -> Look {
    let screenshot = Some(file.with_file_name(format!("diff-{width}-{scheme}.png")));
    let file = file.to_owned();
    Look { file, width, height, scheme, screenshot, has_script: true, ask: Some(ASKED) }
}

fn is_whole(page: &Value) -> Result<()> {
    ensure!(page["sections"] == serde_json::json!(SECTIONS), "sections: {}", page["sections"]);
    let runs = page["runs"].as_str().context("no runs")?;
    ensure!(runs.contains(HOSTILE), "the names of the runs are {runs}");
    ensure!(page["images"] == 0 && page["owned"].is_null(), "a name became markup");
    ensure!(page["flames"] == true, "a frame of the flame graph has no text");
    ensure!(page["too_wide"].as_i64().context("no width")? <= 0, "it scrolls sideways");
    Ok(())
}

/// The answer, the sums of both runs and those of every module are the document's.
fn has_figures(page: &Value, json: &Value) -> Result<()> {
    let answer = json["answer"].as_str().context("no answer")?;
    let heading = page["heading"].as_str().context("no heading")?;
    ensure!(heading.trim_end_matches('.') == answer, "{heading}, not {answer}");
    let rank = &json["ranks"][0];
    let shown = |bytes: &Value| -> Result<String> {
        Ok(Bytes(bytes.as_u64().context("no amount")?).to_string())
    };
    for (name, key) in [("allocated", "peak_bytes"), ("reserved", "reserved_bytes")] {
        let (a, b) = (shown(&rank["a"][key])?, shown(&rank["b"][key])?);
        let rows = page["rows"].as_array().context("no rows")?;
        let row = rows.iter().find(|row| row[0] == name).with_context(|| format!("no {name}"))?;
        ensure!(row[1] == a && row[2] == b, "{name}: {row}, not {a} and {b}");
    }
    let groups = rank["peak"]["by_module"].as_array().context("no modules")?;
    let told = page["modules"].as_array().context("no table of modules")?;
    ensure!(!groups.is_empty() && groups.len() == told.len(), "{} modules", told.len());
    for group in groups {
        let name = group["name"].as_str().filter(|name| !name.is_empty());
        let name = name.unwrap_or("(the model itself)");
        let row = told.iter().find(|row| row[0] == name).with_context(|| format!("no {name}"))?;
        let (a, b) = (shown(&group["a"]["bytes"])?, shown(&group["b"]["bytes"])?);
        ensure!(row[1] == a && row[2] == b, "{name}: {row}, not {a} and {b}");
    }
    Ok(())
}
