//! Every text of the cases, said to be of every version of PyTorch: no line that the version refuses.

use anyhow::{Context, Result};
use harness::score::{Input, all_cases};
use whyoom_allocators::policies::pytorch::{AllocatorConf, KNOWN_OPTIONS, Release, takes};
use whyoom_causes::{Finding, judge};
use whyoom_memory::Model;
use whyoom_sources::oom_text;
use whyoom_trace::Tables;

use super::{counted::Counted, keys};

/// Judges each text as it is, and once for each version with a line that names it.
pub(crate) fn check() -> Result<Counted> {
    let mut versions = vec![None];
    versions.extend(keys::read_measured()?.releases.into_iter().map(Some));
    let mut counted = Counted { compared: 0, wrong: Vec::new() };
    for case in all_cases()? {
        let Input::Files(files) = case.input()? else { continue };
        let [file] = &files[..] else { continue };
        let text = std::fs::read(file).with_context(|| case.name.clone())?;
        let Ok(text) = String::from_utf8(text) else { continue };
        for release in &versions {
            let named = release
                .map_or_else(String::new, |release| format!("PyTorch version: {release}+cu128\n"));
            counted.compared += 1;
            for line in lines_of(&format!("{named}{text}"))? {
                for key in refused_keys(&line, *release, &text) {
                    let version =
                        release.map_or("no version".to_owned(), |release| release.to_string());
                    counted.wrong.push(format!("{}, {version}: {key} in {line}", case.name));
                }
            }
        }
    }
    Ok(counted)
}

/// Returns the lines to paste of every finding.
fn lines_of(text: &str) -> Result<Vec<String>> {
    let (mut tables, mut model) = (Tables::default(), Model::default());
    oom_text::scan(text.as_bytes(), "text", &mut tables, &mut model)?;
    let verdict = judge(&model, &tables);
    let mut lines = Vec::new();
    let mut take = |finding: &Finding| {
        lines.extend(finding.remedies.iter().filter_map(|remedy| remedy.paste.clone()));
    };
    take(&verdict.primary);
    verdict.contributing.iter().for_each(&mut take);
    Ok(lines)
}

/// Returns the options of a line that the release refuses. Without a release: those that not every release takes, unless
/// the text sets them itself.
fn refused_keys(line: &str, release: Option<Release>, text: &str) -> Vec<String> {
    let Some((_, value)) = line.split_once("ALLOC_CONF=") else { return Vec::new() };
    let Ok(conf) = AllocatorConf::parse(value.trim_end_matches('\'')) else {
        return vec![value.to_owned()];
    };
    let is_known = |key: &str| KNOWN_OPTIONS.iter().any(|option| option.key == key);
    let mut refused = Vec::new();
    for option in conf.options() {
        // What the text says to be set was taken by the PyTorch that it is of, whatever the line before it says.
        let is_set = text.contains(&format!("{}:", option.key));
        let is_taken = takes(release, &option.key) == Some(true);
        if !is_taken && !is_set && is_known(&option.key) {
            refused.push(option.key.clone());
        }
    }
    refused
}
