//! Secrets: what is written down, and what is sent to others, holds none of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Result, ensure};
use harness::{Build, Held, Need, STRANGER, Scene, SceneStage, empty_folder, root, text};

/// Made up, each as its issuer would make it or with nothing to know it by but the word before it.
const BY_OPTION: &str = "correct-horse-battery";
const BY_SHAPE: &str = "hf_QwErTyUiOpAsDfGhJkLzXcVbNm012345";
const IN_ADDRESS: &str = "tr0ub4dor";
const IN_VARIABLE: &str = "staple-of-nccl";
const OF_STRANGER: &str = "run-of-the-stranger";
const IN_LOG: &str = "horse-of-the-log";
const SECRETS: &[&str] = &[BY_OPTION, BY_SHAPE, IN_ADDRESS, IN_VARIABLE, OF_STRANGER, IN_LOG];

/// A setting that a verdict needs.
const SETTING: &str = "garbage_collection_threshold:0.77";

/// What was asked of the command, and what it gave.
struct Written {
    what: String,
    bytes: Vec<u8>,
}

/// A recorded run with secrets in its command line and its environment, beside another user's process: nothing
/// that is written or sent holds them, and a verdict still has what it needs.
pub(super) fn recorded() -> Result<Held> {
    Need::Root.met()?;
    let folder = empty_folder("hostile-secrets")?;
    let mut scene = Scene::start(&SceneStage::ready()?, &["--memory", "1GiB"])?;
    let program = text(&root().join("tests/suites/hostile/holds.py"));
    let stranger = STRANGER.to_string();
    let words = [&program, "hold", "256", &stranger, "--run-name", OF_STRANGER];
    scene.hold_as(Path::new("python3"), &words, 1)?;
    let recording = folder.join("run");
    record(&scene, &program, &recording)?;

    let mut written = files_in(&recording)?;
    let whyoom = scene.whyoom().to_owned();
    let recording = text(&recording);
    let asked: &[&[&str]] = &[
        &["why", "--json", "--live", &recording],
        &["why", &recording],
        &["report", "--json", &recording],
        &["who", "--json"],
    ];
    for words in asked {
        written.push(ask(&scene, &whyoom, words)?);
    }
    let holding = written.iter().filter_map(|file| file.holds_no_secret().err());
    let holding: Vec<String> = holding.map(|error| error.to_string()).collect();
    ensure!(holding.is_empty(), "{}", holding.join("\n"));
    let page = &written[written.len() - 2];
    for kept in [SETTING, "--learning-rate", "python3 holds.py"] {
        ensure!(page.has(kept), "the report lacks {kept}");
    }
    // What `ps` would show to this very user, `who` shows on the terminal.
    ensure!(ask(&scene, &whyoom, &["who"])?.has(OF_STRANGER), "who shows less than ps");
    Ok(Held::new("no secret in any of them").count("files and answers", written.len() as u64))
}

fn record(scene: &Scene, program: &str, folder: &Path) -> Result<()> {
    let mut run = scene.command(scene.whyoom());
    run.args(["run", "-o"]).arg(folder).args(["--", "python3", program, "fail"]);
    run.args(["--password", BY_OPTION, &format!("--note={BY_SHAPE}"), "--learning-rate", "0.1"]);
    run.arg(format!("https://me:{IN_ADDRESS}@example.org/"));
    run.env("CUDA_API_TOKEN", IN_VARIABLE).env("NCCL_PROXY_PASSWORD", IN_VARIABLE);
    run.env("PYTORCH_CUDA_ALLOC_CONF", SETTING);
    let output = run.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(1), "{}: {said}", output.status);
    Written { what: "what whyoom run says".into(), bytes: output.stderr }.holds_no_secret()
}

/// A log with a token in the line that is quoted.
pub(super) fn quoted() -> Result<Held> {
    let folder = empty_folder("hostile-secrets-log")?;
    let log = folder.join("job.log");
    let line = format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of \
         23.64 GiB of which 5.06 MiB is free. client --password {IN_LOG} {BY_SHAPE}\n"
    );
    fs::write(&log, line)?;
    let (whyoom, log) = (Build::ready()?.whyoom(), text(&log));
    let asked: &[&[&str]] =
        &[&["why", &log], &["why", "--json", &log], &["report", "--json", &log]];
    for words in asked {
        let answer = Written::of(words, Command::new(&whyoom).args(*words).output()?)?;
        answer.holds_no_secret()?;
        ensure!(answer.has("Tried to allocate"), "{words:?}: the message is not quoted");
    }
    Ok(Held::new("masked where the line is quoted").count("answers", asked.len() as u64))
}

/// What is sent to others says what is in it.
pub(super) fn told() -> Result<Held> {
    let folder = empty_folder("hostile-secrets-told")?;
    let snapshot = text(&root().join("tests/fixtures/snapshots/growth-oom.pickle"));
    let (whyoom, page) = (Build::ready()?.whyoom(), text(&folder.join("report.html")));
    let answer = |words: &[&str]| Written::of(words, Command::new(&whyoom).args(words).output()?);
    for words in [["why", "--json", &snapshot], ["report", "--json", &snapshot]] {
        ensure!(answer(&words)?.has("\"contains\""), "{words:?} does not say what it contains");
    }
    let said = answer(&["report", &snapshot, "-o", &page])?;
    ensure!(said.has("this file contains"), "report does not say what a recipient sees");
    let page = Written { what: page.clone(), bytes: fs::read(&page)? };
    ensure!(page.has("Contains:"), "the page does not say what it contains");
    Ok(Held::new("JSON, report and page say it"))
}

fn ask(scene: &Scene, whyoom: &Path, words: &[&str]) -> Result<Written> {
    Written::of(words, scene.command(whyoom).args(words).output()?)
}

fn files_in(folder: &Path) -> Result<Vec<Written>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(Written { what: text(&path), bytes: fs::read(&path)? });
            }
        }
    }
    ensure!(found.iter().any(|file| file.what.ends_with("machine.jsonl")), "nobody looked");
    ensure!(found.iter().any(|file| file.what.ends_with(".part")), "nothing was recorded");
    Ok(found)
}

impl Written {
    fn of(words: &[&str], output: Output) -> Result<Self> {
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{words:?}: {said}");
        Ok(Self { what: words.join(" "), bytes: output.stdout })
    }

    fn has(&self, wanted: &str) -> bool {
        self.bytes.windows(wanted.len()).any(|bytes| bytes == wanted.as_bytes())
    }

    fn holds_no_secret(&self) -> Result<()> {
        let found: Vec<&&str> = SECRETS.iter().filter(|secret| self.has(secret)).collect();
        ensure!(found.is_empty(), "{} holds {found:?}", self.what);
        Ok(())
    }
}
