//! Every tool, asked about what is known.

use anyhow::{Context, Result, ensure};
use harness::{Held, Trial, python, root, text};
use serde_json::{Value, json};

use super::session::{Session, folder, session, session_in_lab};

/// The tools, in their order.
const TOOLS: [&str; 5] = ["why", "diff", "replay", "fit", "who"];

const TRACEBACK: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 GiB. GPU 0 has a total \
    capacity of 23.64 GiB of which 22.00 GiB is free.";

pub(super) fn run() -> Result<Held> {
    let fixtures = root().join("tests/fixtures");
    let calls = json!([
        ["why", {"path": "snapshots/fragmented-oom.pickle"}],
        ["why", {"text": TRACEBACK}],
        ["why", {"path": "snapshots/growth.pickle", "text": "no message"}],
        ["why", {"path": "imports/nsys-growth.sqlite"}],
        ["replay", {"path": text(&fixtures.join("snapshots/fragmented-oom.pickle"))}],
        ["replay", {"path": "snapshots/fragmented-oom.pickle", "allocators": ["expandable"],
            "settings": ["max_split_size_mb:64"], "capacity": "1GiB"}],
        ["replay", {"path": "logs/fragmented.log"}],
        ["why", {}],
        ["why", {"file": "x"}],
        ["diff", {"a": "snapshots/growth.pickle", "b": "snapshots/fragmented-oom.pickle"}],
    ]);
    let session = session("tools", &folder(&fixtures), &calls)?;
    introduces_itself(&session)?;
    let given = |call: usize| session.answers[call].given();
    let why = given(0)?;
    ensure!(why["cause"] == "fragmented-cache", "{why}");
    ensure!(why["lines"][0]["line"] == "me/train.py:61 remember", "{why}");
    let paste = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    ensure!(why["fixes"][0]["paste"] == paste && why["fixes"][0]["proved"] == false, "{why}");
    ensure!(why["figures"][0]["amount"] == json!({"bytes": 503_316_480, "shown": "480.00 MiB"}));
    ensure!(given(1)?["cause"] == "request-too-big", "{}", session.answers[1].text());
    for call in [2, 3] {
        ensure!(given(call)?["cause"] == "growth", "{}", session.answers[call].text());
    }
    let replay = &given(4)?["runs"][0];
    ensure!(
        replay["model_is_exact"] == true && replay["allocators"][0]["fits"] == true,
        "{replay}"
    );
    ensure!(replay["allocators"][1]["switch"] == paste, "{replay}");
    let fewer = &given(5)?["runs"][0]["allocators"];
    ensure!(fewer.as_array().context("no list")?.len() == 2, "{fewer}");
    let refused = |call: usize| session.answers[call].refusal();
    ensure!(refused(6)?.contains("logs/fragmented.log contains no history"), "{}", refused(6)?);
    ensure!(refused(7)?.contains("give a path or a text"), "{}", refused(7)?);
    ensure!(refused(8)?.contains("unknown field `file`"), "{}", refused(8)?);
    compared(&session.answers[9])?;
    let largest = (0..6).map(|call| session.answers[call].size()).max().unwrap_or_default();
    let recorded = recorded()?;
    let who = who()?;
    Ok(Held::new(format!(
        "5 tools; the longest of {} answers has {} bytes of JSON and {} of text; {recorded}; {who}",
        session.answers.len(),
        largest.0,
        largest.1
    )))
}

/// What grew between two snapshots, with the line.
fn compared(answer: &super::session::Answer) -> Result<()> {
    let diff = answer.given()?;
    ensure!(diff["headline"].is_string() && diff["unchanged"] == false, "{diff}");
    let first = &diff["changes"][0];
    ensure!(first["bytes"].is_i64() && first["call_site"].is_string(), "{diff}");
    Ok(())
}

fn introduces_itself(session: &Session) -> Result<()> {
    let names: Vec<&Value> = session.tools.iter().map(|tool| &tool["name"]).collect();
    ensure!(names == TOOLS, "the tools are {names:?}");
    for tool in &session.tools {
        ensure!(tool["outputSchema"]["type"] == "object", "{tool}");
        ensure!(tool["annotations"]["readOnlyHint"] == (tool["name"] != "fit"), "{tool}");
    }
    let begun = &session.begun;
    ensure!(begun["serverInfo"]["name"] == "whyoom", "{begun}");
    let instructions = begun["instructions"].as_str().context("no instructions")?;
    ensure!(instructions.matches(". ").count() == 2, "not three sentences: {instructions}");
    Ok(())
}

/// The folder of a recording.
fn recorded() -> Result<String> {
    let program = "import torch; torch.empty(2 << 30, dtype=torch.uint8, device='cuda')";
    let trial = Trial::new("1GiB", &[python()?, "-c".into(), program.into()]);
    let recorded = trial.recorded("mcp-recording")?;
    let calls = json!([["why", {"path": text(&recorded.folder)}], ["why", {"path": "."}]]);
    let session = session("recording", &folder(&recorded.folder), &calls)?;
    for answer in &session.answers {
        let why = answer.given()?;
        ensure!(why["cause"] == "request-too-big", "{why}");
    }
    Ok("a recording by two names".to_owned())
}

/// GPUs, where there are some; and what to do where there is no driver.
fn who() -> Result<String> {
    let calls = json!([["who", {}]]);
    let fixtures = folder(&root().join("tests/fixtures"));
    let there = session_in_lab("who", &fixtures, &calls)?;
    let gpus = &there.answers[0].given()?["gpus"];
    ensure!(gpus[0]["free"]["shown"] == "8.00 GiB", "{gpus}");
    Ok("who on a simulated GPU".to_owned())
}
