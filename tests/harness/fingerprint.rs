//! Fingerprints of everything that a check depends on. While a fingerprint is unchanged, an earlier result or an
//! earlier recording is reused.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::checkout::{root, shared_data_folder};

/// Code that only makes verdicts and pages: no other result depends on it.
const VERDICT_CODE: &[&str] = &[
    "crates/browser/",
    "crates/causes/",
    "crates/exports/",
    "crates/mcp/",
    "crates/sources/src/oom_text/",
    "crates/whyoom/demo/",
    "crates/whyoom/src/causes.rs",
    "crates/whyoom/src/demo/",
    "crates/whyoom/src/export.rs",
    "crates/whyoom/src/mcp.rs",
    "crates/whyoom/src/sarif.rs",
    "crates/whyoom/src/why.rs",
];

/// Code besides [`VERDICT_CODE`] that does not contribute to a recording, but for the files below. `whyoom run` uses some
/// of it after the program has ended, to print its verdict. With `--flight` it uses it earlier, so such recordings are
/// never reused.
const READING_CODE: &[&str] = &[
    "crates/attach/",
    "crates/diff/",
    "crates/doctor/",
    "crates/fit/",
    "crates/memory/",
    "crates/reading/",
    "crates/report/",
    "crates/sources/",
    "crates/symbols/",
    "crates/tui/",
    "crates/whyoom/src/attach/",
    "crates/whyoom/src/diff/",
    "crates/whyoom/src/doctor.rs",
    "crates/whyoom/src/fit/",
    "crates/whyoom/src/replay.rs",
    "crates/whyoom/src/report.rs",
    "crates/whyoom/src/top.rs",
    "crates/whyoom/src/who/",
];

/// Suites whose checks only record: they depend on [`Scope::Recording`].
const SUITES_THAT_ONLY_RECORD: &[&str] = &["lab"];

/// Suites of which only the parts named here read a verdict or a page. Their other parts do not depend on
/// [`VERDICT_CODE`]. Every part of a suite that is not in the table depends on everything. A part
/// is a file of the same name.
const PARTS_WITH_VERDICTS: &[(&str, &[&str])] = &[
    ("attach", &["ended", "visits"]),
    ("diff", &["modules"]),
    ("fit", &[]),
    ("pool", &[]),
    // `blocks` has no checks of its own: `programs` uses it.
    ("recorder", &["blocks", "flight", "growth", "programs", "ways"]),
    ("recording", &["flight"]),
    ("replay", &["rescue"]),
    ("who", &[]),
];

/// Files of the judging crates that define what `whyoom run` writes.
const RECORDING_FORMAT_FILES: &[&str] =
    &["crates/sources/src/recording/ending.rs", "crates/sources/src/recording/machine_samples.rs"];

/// Folders that only one suite uses: the operators' command, what it is deployed with, and the pages of the book.
const FOLDERS_OF_ONE_SUITE: &[(&str, &str)] =
    &[("deploy/", "fleet"), ("docs/", "who"), ("fleet/", "fleet")];

/// Folders and files that the suites build, run or read. `inputs[suites]` of `.ci/run` must name them, too.
const BUILT_RUN_OR_READ: &[&str] = &[
    ".cargo/",
    ".config/",
    "Cargo.lock",
    "Cargo.toml",
    "crates/",
    "deploy/",
    "docs/",
    "fleet/",
    "lab/",
    "python/",
    "rust-toolchain.toml",
    "tests/",
    "web/",
    "xtask/src/nextest.rs",
];

/// Inputs of recordings outside the crates: what programs are started with and measured by.
const RECORDING_INPUTS: &[&str] = &[
    "tests/harness/",
    "tests/requirements/",
    "tests/scenarios/recorder/",
    "tests/scenarios/scene.sh",
    "tests/suites/score/",
];

/// The part of the checkout that a result depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All code.
    Everything,
    /// All code but [`VERDICT_CODE`].
    WithoutVerdicts,
    /// All code but [`VERDICT_CODE`] and [`READING_CODE`]: what can change a recording.
    Recording,
}

/// The fingerprints of the checks of one suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteFingerprints {
    /// For checks that read a verdict or a page.
    with_verdicts: String,
    /// For all others.
    without_verdicts: String,
}

impl SuiteFingerprints {
    /// Returns the fingerprint of a check, which is called `SUITE::PART` or `SUITE::PART::CASE`.
    pub(crate) fn of_check(self, name: &str) -> String {
        if reads_verdicts(name) { self.with_verdicts } else { self.without_verdicts }
    }
}

/// Returns true if a check may read a verdict or a page.
fn reads_verdicts(name: &str) -> bool {
    let mut words = name.split("::");
    let (suite, part) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let part = part.strip_prefix("deep-").unwrap_or(part);
    match PARTS_WITH_VERDICTS.iter().find(|(name, _)| *name == suite) {
        Some((_, parts)) => parts.contains(&part),
        None => true,
    }
}

/// The script that hashes files. Comments of Rust do not count, because no result depends on them. `.ci/run` uses it, too.
const HASH_SCRIPT: &str = "tests/harness/code_hash.py";

/// The files of a checkout, each with a hash of its contents, and what else the checks of this machine depend on.
#[derive(Debug)]
pub(crate) struct Checkout {
    /// Hash of each file by its path below the checkout, as [`HASH_SCRIPT`] prints it.
    files: BTreeMap<String, String>,
    /// Names after `crate::` in the sources of each suite.
    suite_references: BTreeMap<String, BTreeSet<String>>,
    /// Versions of the compiler and the kernel, this boot, and the shared data.
    machine: String,
}

impl Checkout {
    /// Reads all files that git tracks, and those that it does not ignore.
    pub(crate) fn read() -> Result<Self> {
        let mut paths = listed_files()?;
        paths.retain(|path| {
            BUILT_RUN_OR_READ.iter().any(|prefix| path.starts_with(prefix))
                && !is_test_of_crate(path)
        });
        let files = file_hashes(&paths)?;
        let mut suite_references: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for path in files.keys() {
            if let Some(suite) = suite_of(path) {
                let file = root().join(path);
                let contents = fs::read(&file).with_context(|| file.display().to_string())?;
                let source = String::from_utf8_lossy(&contents);
                let references = suite_references.entry(suite.to_owned()).or_default();
                references.extend(crate_references(&source));
            }
        }
        ensure!(!files.is_empty(), "git lists no file of this checkout");
        Ok(Self { files, suite_references, machine: machine()? })
    }

    /// Returns the fingerprints of the checks of one suite. The suites whose code it uses are part of them.
    #[must_use]
    pub(crate) fn of_suite(&self, suite: &str) -> SuiteFingerprints {
        let used = self.used_suites(suite);
        let in_scope = |scope| {
            self.fingerprint(|path| {
                is_in_scope(path, scope)
                    && suite_of(path).is_none_or(|name| used.contains(name))
                    && FOLDERS_OF_ONE_SUITE
                        .iter()
                        .all(|(folder, suite)| used.contains(*suite) || !path.starts_with(folder))
            })
        };
        if SUITES_THAT_ONLY_RECORD.contains(&suite) {
            let fingerprint = in_scope(Scope::Recording);
            return SuiteFingerprints {
                with_verdicts: fingerprint.clone(),
                without_verdicts: fingerprint,
            };
        }
        SuiteFingerprints {
            with_verdicts: in_scope(Scope::Everything),
            without_verdicts: in_scope(Scope::WithoutVerdicts),
        }
    }

    /// Returns the suite itself and every suite that its files name as `crate::NAME`.
    fn used_suites(&self, suite: &str) -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        let mut to_visit = vec![suite.to_owned()];
        while let Some(name) = to_visit.pop() {
            if used.insert(name.clone()) {
                to_visit.extend(self.suite_references.get(&name).into_iter().flatten().cloned());
            }
        }
        used
    }

    /// Returns the names of all suites.
    pub(crate) fn suites(&self) -> impl Iterator<Item = &str> {
        self.suite_references.keys().map(String::as_str)
    }

    /// Returns the fingerprint of every recording: of the recorder, the lab, `whyoom run`, the harness and the scripts
    /// that all programs share. A program's own files are not part of it.
    #[must_use]
    pub(crate) fn of_recordings(&self) -> String {
        let others = ["deploy/", "docs/", "fleet/", "tests/", "web/"];
        self.fingerprint(|path| {
            is_in_scope(path, Scope::Recording)
                && (RECORDING_INPUTS.iter().any(|prefix| path.starts_with(prefix))
                    || !others.iter().any(|prefix| path.starts_with(prefix)))
        })
    }

    fn fingerprint(&self, includes: impl Fn(&str) -> bool) -> String {
        let mut hasher = Sha256::new();
        hasher.update(&self.machine);
        for (path, hash) in self.files.iter().filter(|(path, _)| includes(path)) {
            hasher.update(format!("{path}\0{hash}\n"));
        }
        hex(&hasher.finalize())
    }
}

fn is_in_scope(path: &str, scope: Scope) -> bool {
    let is_below = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    match scope {
        Scope::Everything => true,
        Scope::WithoutVerdicts => !is_below(VERDICT_CODE),
        Scope::Recording => {
            RECORDING_FORMAT_FILES.contains(&path)
                || !(is_below(VERDICT_CODE) || is_below(READING_CODE))
        }
    }
}

/// Returns true for the sources and transcripts of a crate's own tests, which no suite builds or reads.
fn is_test_of_crate(path: &str) -> bool {
    let mut parts = path.split('/');
    let place = (parts.next(), parts.nth(1), parts.next());
    let (Some("crates" | "fleet" | "lab"), Some("tests"), Some(next)) = place else { return false };
    next == "cmd" || path.ends_with(".rs")
}

/// Returns the suite that a file belongs to. Returns `None` for files outside suite folders, which are inputs of every
/// suite.
fn suite_of(path: &str) -> Option<&str> {
    let (suite, _) = path.strip_prefix("tests/suites/")?.split_once('/')?;
    Some(suite)
}

/// Returns the names after `crate::` in a source file of the suites, those in braces too, and the suites whose files it
/// names by their paths.
fn crate_references(source: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in source.split("\"tests/suites/").skip(1) {
        names.extend(rest.split(|c: char| !is_word(c)).next().map(str::to_owned));
    }
    for rest in source.split("crate::").skip(1) {
        let list = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default(),
            None => rest.split(|c: char| !is_word(c)).next().unwrap_or_default(),
        };
        // Longer paths in braces add names that are no suite, which does no harm.
        names.extend(list.split(|c: char| !is_word(c)).map(str::to_owned));
    }
    names.remove("");
    names
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns a hash of the contents of all files below a folder.
pub(crate) fn fingerprint_of_folder(folder: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    for path in files_below(folder)? {
        let contents = fs::read(&path).with_context(|| path.display().to_string())?;
        hasher.update(format!("{}\0{}\n", path.display(), hex(&Sha256::digest(contents))));
    }
    Ok(hex(&hasher.finalize()))
}

/// Returns a hash of a text.
#[must_use]
pub(crate) fn fingerprint_of_text(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the hash of each file that exists, by its path below the checkout.
fn file_hashes(paths: &[String]) -> Result<BTreeMap<String, String>> {
    let mut command = Command::new("python3");
    command.arg(HASH_SCRIPT).current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut script = command.spawn().context("Python is needed to hash the files")?;
    let mut stdin = script.stdin.take().context("the script has no standard input")?;
    // The script reads the whole list before it prints.
    stdin.write_all(paths.join("\n").as_bytes())?;
    drop(stdin);
    let output = script.wait_with_output()?;
    ensure!(output.status.success(), "{HASH_SCRIPT} failed");
    let text = String::from_utf8(output.stdout)?;
    let mut hashes = BTreeMap::new();
    for line in text.lines() {
        let (hash, path) =
            line.split_once(' ').with_context(|| format!("{HASH_SCRIPT}: {line}"))?;
        hashes.insert(path.to_owned(), hash.to_owned());
    }
    Ok(hashes)
}

fn listed_files() -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let output = git.output().context("git is needed to list the files of the checkout")?;
    ensure!(output.status.success(), "git ls-files failed");
    let list = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut paths: Vec<String> = list.split_terminator('\0').map(str::to_owned).collect();
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Returns what a result depends on besides the checkout. The boot is part of it because a verdict treats a recording
/// of an earlier boot differently. Other tools (gdb, cc, node, Chromium, valgrind) are not part of it: after an upgrade
/// run with `WHYOOM_FRESH=1`.
fn machine() -> Result<String> {
    let mut text = String::new();
    for (program, argument) in [("rustc", "--version"), ("uname", "-srm")] {
        let output = Command::new(program).arg(argument).output().context(program)?;
        ensure!(output.status.success(), "{program} {argument} failed");
        text.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    text.push_str(&fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default());
    let shared = shared_data_folder();
    if shared.is_dir() {
        text.push_str(&fingerprint_of_folder(&shared)?);
    }
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkout::empty_folder;

    fn checkout(files: &[(&str, &str)]) -> Checkout {
        let files = files.iter().map(|(path, hash)| ((*path).to_owned(), (*hash).to_owned()));
        Checkout {
            files: files.collect(),
            suite_references: BTreeMap::from([(
                "stacks".to_owned(),
                BTreeSet::from(["fit".to_owned()]),
            )]),
            machine: "a machine".to_owned(),
        }
    }

    /// Returns a checkout with one file in each place that a fingerprint distinguishes.
    fn sample(changed: &str) -> Checkout {
        let paths = [
            "Cargo.lock",
            "crates/causes/src/lib.rs",
            "crates/memory/src/lib.rs",
            "crates/recorder/src/lib.rs",
            "crates/sources/src/recording/ending.rs",
            "docs/dev/evidence/who-peers.md",
            "fleet/agent/src/lib.rs",
            "lab/cuda/src/lib.rs",
            "tests/harness/lib.rs",
            "tests/scenarios/practice/growth/a.py",
            "tests/suites/fit/mod.rs",
            "tests/suites/lab/mod.rs",
            "tests/suites/pool/mod.rs",
        ];
        assert!(changed.is_empty() || paths.contains(&changed));
        let hash = |path: &str| if path == changed { "new" } else { "old" };
        checkout(&paths.map(|path| (path, hash(path))))
    }

    #[test]
    fn suite_fingerprint_changes_with_each_of_its_inputs() {
        let before = sample("").of_suite("pool");
        for path in [
            "Cargo.lock",
            "crates/causes/src/lib.rs",
            "crates/recorder/src/lib.rs",
            "lab/cuda/src/lib.rs",
            "tests/harness/lib.rs",
            "tests/scenarios/practice/growth/a.py",
            "tests/suites/pool/mod.rs",
        ] {
            assert_ne!(sample(path).of_suite("pool"), before, "{path}");
        }
        for path in
            ["tests/suites/lab/mod.rs", "fleet/agent/src/lib.rs", "docs/dev/evidence/who-peers.md"]
        {
            assert_eq!(sample(path).of_suite("pool"), before, "{path}");
        }
        assert_ne!(
            sample("docs/dev/evidence/who-peers.md").of_suite("who"),
            sample("").of_suite("who")
        );
    }

    #[test]
    fn folder_of_one_suite_is_named_by_no_other() {
        let folders =
            ["tests/harness", "tests/suites"].map(|folder| files_below(&root().join(folder)));
        for file in folders.into_iter().flat_map(Result::unwrap) {
            let path = file.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            if path.ends_with("fingerprint.rs") || !(path.ends_with(".rs") || path.ends_with(".py"))
            {
                continue;
            }
            let source = fs::read_to_string(&file).unwrap();
            for (folder, suite) in FOLDERS_OF_ONE_SUITE {
                let is_named = source.contains(&format!("\"{folder}"));
                assert!(!is_named || suite_of(&path) == Some(suite), "{path} names {folder}");
            }
        }
    }

    #[test]
    fn code_that_reads_does_not_change_recordings() {
        let before = sample("");
        for path in ["crates/causes/src/lib.rs", "crates/memory/src/lib.rs"] {
            assert_eq!(sample(path).of_recordings(), before.of_recordings(), "{path}");
            assert_eq!(sample(path).of_suite("lab"), before.of_suite("lab"), "{path}");
        }
        for path in [
            "crates/recorder/src/lib.rs",
            "crates/sources/src/recording/ending.rs",
            "lab/cuda/src/lib.rs",
            "tests/harness/lib.rs",
        ] {
            assert_ne!(sample(path).of_recordings(), before.of_recordings(), "{path}");
            assert_ne!(sample(path).of_suite("lab"), before.of_suite("lab"), "{path}");
        }
    }

    #[test]
    fn only_checks_that_read_verdicts_depend_on_causes() {
        let of_check = |changed: &str, name: &str| {
            let suite = name.split("::").next().unwrap();
            sample(changed).of_suite(suite).of_check(name)
        };
        for name in ["fit::vary::batch", "pool::stress", "recorder::kill"] {
            assert_eq!(of_check("crates/causes/src/lib.rs", name), of_check("", name), "{name}");
            assert_ne!(of_check("crates/memory/src/lib.rs", name), of_check("", name), "{name}");
        }
        for name in [
            "recorder::growth::loop",
            "score::practice::a",
            "hostile::paste",
            "recording::deep-flight",
        ] {
            assert_ne!(of_check("crates/causes/src/lib.rs", name), of_check("", name), "{name}");
        }
    }

    #[test]
    fn tests_of_a_crate_are_no_input() {
        for path in ["crates/causes/tests/recorded.rs", "crates/whyoom/tests/cmd/why.md"] {
            assert!(is_test_of_crate(path), "{path}");
        }
        for path in ["crates/recording/tests/fixtures/version-1/run.json", "tests/suites/main.rs"] {
            assert!(!is_test_of_crate(path), "{path}");
        }
    }

    #[test]
    fn fleet_is_an_input_of_its_own_suite_only() {
        let (before, after) = (sample(""), sample("fleet/agent/src/lib.rs"));
        assert_ne!(after.of_suite("fleet"), before.of_suite("fleet"));
        assert_eq!(after.of_suite("stacks"), before.of_suite("stacks"));
    }

    #[test]
    fn suite_that_is_used_is_an_input() {
        let (before, after) = (sample(""), sample("tests/suites/fit/mod.rs"));
        assert_ne!(after.of_suite("stacks"), before.of_suite("stacks"));
        let source = r#"use crate::fit::GATE; use crate::{lab, replay::run}; crate::pool; "tests/suites/who/a.py""#;
        for suite in ["fit", "lab", "pool", "replay", "who"] {
            assert!(crate_references(source).contains(suite), "{suite}");
        }
    }

    #[test]
    fn comments_are_no_input() {
        let file = empty_folder("comments-are-no-input").unwrap().join("a.rs");
        let hash = |source: &str| {
            fs::write(&file, source).unwrap();
            let path = file.to_str().unwrap().to_owned();
            file_hashes(std::slice::from_ref(&path)).unwrap().remove(&path).unwrap()
        };
        let code =
            "fn f<'a>(s: &'a str) -> char { g(\"// no\\\" comment\", r#\"a \" // b\"#, '\"') }";
        let before = hash(code);
        for comment in ["// it's \"one\"", "/// Returns a quote.", "//! A file.", "//// four"] {
            assert_eq!(hash(&format!("{comment}\n{code} {comment}\n\n")), before, "{comment}");
        }
        // What looks like a comment in a literal, and comments whose end the script does not look for.
        for (from, to) in
            [("// no", "// yes"), ("// b", "// c"), ("'\"'", "'\\''"), ("{ g", "{ /* b */ g")]
        {
            let changed = code.replace(from, to);
            assert_ne!(changed, code);
            assert_ne!(hash(&changed), before, "{changed}");
        }
    }

    #[test]
    fn named_paths_exist() {
        let paths = [
            VERDICT_CODE,
            READING_CODE,
            RECORDING_FORMAT_FILES,
            BUILT_RUN_OR_READ,
            RECORDING_INPUTS,
        ];
        for path in paths.concat() {
            assert!(root().join(path).exists(), "{path}");
        }
    }

    #[test]
    fn gate_runs_the_suites_after_a_change_in_each_input() {
        let script = fs::read_to_string(root().join(".ci/run")).unwrap();
        let code = script.lines().find(|line| line.starts_with("code=")).unwrap();
        let suites = script.lines().find(|line| line.contains("[suites]=")).unwrap();
        let named: Vec<&str> = [code, suites]
            .iter()
            .flat_map(|line| line.split(|c: char| c.is_whitespace() || "='\"".contains(c)))
            .collect();
        for path in BUILT_RUN_OR_READ {
            let is_named = named.iter().any(|name| !name.is_empty() && path.starts_with(name));
            assert!(is_named, "{path} is no input of the stage `suites`");
        }
    }

    /// Words with which the suites ask for a verdict, or for a page that has one.
    const WORDS_FOR_VERDICTS: &[&str] = &[
        "Why",
        "verdict()",
        "--apply",
        "has_cause",
        "whyoom_causes",
        "\"why\"",
        "\"report\"",
        "\"mcp\"",
        "\"export\"",
    ];

    #[test]
    fn checks_that_are_declared_to_read_no_verdict_read_none() {
        let only_record = SUITES_THAT_ONLY_RECORD.iter().map(|suite| (*suite, &[][..]));
        for (suite, parts) in PARTS_WITH_VERDICTS.iter().copied().chain(only_record) {
            let folder = root().join("tests/suites").join(suite);
            for part in parts {
                let file = folder.join(format!("{part}.rs"));
                assert!(file.exists(), "{suite} has no part {part}");
            }
            for file in files_below(&folder).unwrap() {
                let name = file.file_stem().unwrap().to_string_lossy().into_owned();
                if parts.contains(&name.as_str()) {
                    continue;
                }
                let source = fs::read_to_string(&file).unwrap();
                for word in WORDS_FOR_VERDICTS {
                    assert!(!source.contains(word), "{} uses {word}", file.display());
                }
            }
        }
    }
}
