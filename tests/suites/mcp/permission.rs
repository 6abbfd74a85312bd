//! `fit` runs a program only where the person allowed it.

use std::fs;

use anyhow::{Result, ensure};
use harness::{Held, empty_folder, python, text};
use serde_json::json;

use super::session::{folder, session};

const PROGRAM: &str = "import pathlib, sys, torch
pathlib.Path('ran').write_text(' '.join(sys.argv[1:]))
torch.empty(1 << 30, dtype=torch.uint8, device='cuda')
";

pub(super) fn run() -> Result<Held> {
    let place = empty_folder("mcp-permission")?;
    fs::write(place.join("train.py"), PROGRAM)?;
    let python = python()?;
    let command = |words: &[&str]| {
        let words: Vec<&str> =
            std::iter::once(python.as_str()).chain(words.iter().copied()).collect();
        json!(["fit", {"command": words, "gpu": ["t4"], "assert": ["peak<1GiB"]}])
    };
    let without = session("forbidden", &folder(&place), &json!([command(&["train.py"])]))?;
    let told = without.answers[0].refusal()?;
    ensure!(told.contains("may run nothing") && told.contains("--allow-run"), "{told}");
    let allowed =
        [folder(&place), vec!["--allow-run".into(), format!("{python} train.py")]].concat();
    let calls = json!([
        command(&["-c", "open('ran', 'w')"]),
        command(&["./train.py"]),
        ["fit", {"command": [format!("{python} train.py")], "gpu": ["t4"]}],
        ["fit", {"command": ["sh", "-c", format!("{python} train.py")], "gpu": ["t4"]}],
        ["fit", {"command": [python, "train.py"], "gpu": ["--report=x"]}],
    ]);
    let refused = session("refused", &allowed, &calls)?;
    for answer in &refused.answers {
        answer.refusal()?;
    }
    ensure!(!place.join("ran").exists(), "something was run: {:?}", refused.answers);
    let fit = session("allowed", &allowed, &json!([command(&["train.py", "$(id)", ";", "x"])]))?;
    let answer = fit.answers[0].given()?;
    ensure!(answer["fits"] == true && answer["gpus"][0]["name"] == "Tesla T4", "{answer}");
    ensure!(answer["assertions"][0]["holds"] == false, "{answer}");
    let line = answer["peak_line"].as_str().unwrap_or_default();
    ensure!(line.contains("train.py:3"), "the line at the peak is {line}");
    let words = fs::read_to_string(place.join("ran"))?;
    ensure!(words == "$(id) ; x", "a shell read the words: {words}");
    let (json, text_bytes) = fit.answers[0].size();
    ensure!(!fs::exists(text(&place.join("x")))?, "an option was smuggled in");
    Ok(Held::new(format!(
        "6 commands refused, 1 run where it was allowed: {json} bytes of JSON, {text_bytes} of text"
    )))
}
