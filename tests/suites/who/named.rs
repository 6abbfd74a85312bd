//! Every situation is named right, and where a command can free the memory, it does.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::{Check, Held, Need, Scene, SceneStage, documents::Who, slug};
use whyoom_trace::Bytes;

use super::situations::{Made, SITUATIONS, Situation};

/// How it begins to say why nothing that can be typed frees the memory.
const WHY_NOT: &[&str] = &["No command", "No signal", "No process holds it"];

pub(super) fn checks() -> Vec<Check> {
    let check = |situation: &'static Situation| {
        Check::new(format!("situations::{}", slug(situation.name)), || run(situation))
    };
    SITUATIONS.iter().map(check).collect()
}

fn run(situation: &Situation) -> Result<Held> {
    if situation.needs_root {
        Need::Root.met()?;
    }
    let name = format!("who-{}", slug(situation.name));
    let (scene, made, folder) = situation.made(&SceneStage::ready()?, &name)?;
    let outcome = judge(&scene, situation, &made, &folder)?;
    let freed = u64::from(matches!(outcome.advice, Advice::Freed(_)));
    let held = Held::new(outcome.told()).count("named right", 1);
    Ok(held.count("printed commands free the memory", freed))
}

/// What became of a situation.
pub(super) struct Outcome {
    kind: Option<&'static str>,
    bytes: u64,
    advice: Advice,
}

/// What came of the command that it prints.
enum Advice {
    /// It prints none, since none can free the memory.
    None,
    /// It was run and freed the memory.
    Freed(String),
    /// It is for a device that exists, and was not run.
    NotRun(String),
}

impl Outcome {
    /// In words that are the same in every run.
    pub(super) fn told(&self) -> String {
        let Some(kind) = self.kind else {
            return "lists the processes of each device, nothing suspicious".to_owned();
        };
        let advice = match &self.advice {
            Advice::None => "no command can free it, and whyoom says so".to_owned(),
            Advice::Freed(command) => format!("`{command}` freed it"),
            Advice::NotRun(command) => format!("`{command}`, which was not run here"),
        };
        format!("`{kind}`, {}; {advice}", Bytes(self.bytes))
    }
}

/// Looks at what is, and does what is advised.
pub(super) fn judge(
    scene: &Scene,
    situation: &Situation,
    made: &Made,
    folder: &Path,
) -> Result<Outcome> {
    let answer = scene.who(made.before)?;
    let whole = || format!("{answer:#?}");
    holders_are_right(scene, &answer, made).with_context(whole)?;
    let command = suspicion_is_right(&answer, situation, made).with_context(whole)?;
    let anonymous = |command: &str| {
        let pids = made.named.iter().map(u32::to_string);
        pids.fold(command.to_owned(), |text, pid| text.replace(&pid, "PID"))
    };
    let advice = match &command {
        None => Advice::None,
        Some(command) if command.contains("nvidia-smi") => Advice::NotRun(anonymous(command)),
        Some(command) => {
            obey(scene, situation, made, command, folder)?;
            Advice::Freed(anonymous(command))
        }
    };
    Ok(Outcome { kind: situation.kind, bytes: made.bytes, advice })
}

/// Runs the command that was printed: the memory is free then, and nothing is suspected any more.
fn obey(
    scene: &Scene,
    situation: &Situation,
    made: &Made,
    command: &str,
    folder: &Path,
) -> Result<()> {
    let before = scene.machine().used(0);
    let expected = before.checked_sub(made.bytes).context("more was named than is in use")?;
    let pipes = [("CUDA_MPS_PIPE_DIRECTORY", folder)];
    ensure!(scene.obey(command, 0, expected, &pipes)?, "{command}: the memory is still held");
    println!("{command}: {} in use, then {}", Bytes(before), Bytes(expected));
    let answer = scene.who(made.before)?;
    let device = answer.device(0)?;
    let left = situation.kind.and_then(|kind| device.suspicion(kind));
    ensure!(left.is_none(), "after {command} it is still suspected");
    Ok(())
}

/// Everybody who holds memory is shown with what the lab says, on the right device, and nobody else.
fn holders_are_right(scene: &Scene, answer: &Who, made: &Made) -> Result<()> {
    ensure!(answer.devices.len() == scene.machine().device_count(), "other devices");
    for (index, device) in answer.devices.iter().enumerate() {
        let mut shown = device.holders();
        let here = made.holders.iter().filter(|(place, _)| *place == index);
        let expected = here.map(|(place, pid)| Ok((*pid, Some(scene.held(*place, *pid)?))));
        let mut expected = expected.collect::<Result<Vec<_>>>()?;
        shown.sort_unstable();
        expected.sort_unstable();
        ensure!(shown == expected, "device {index}: {shown:?} in place of {expected:?}");
    }
    Ok(())
}

/// The suspicion has its kind, processes and bytes; its command, where one can free the memory.
fn suspicion_is_right(answer: &Who, situation: &Situation, made: &Made) -> Result<Option<String>> {
    let Some(kind) = situation.kind else {
        let voiced: Vec<_> = answer.devices.iter().flat_map(|device| device.kinds()).collect();
        ensure!(voiced.is_empty(), "nothing is wrong, but it suspects {voiced:?}");
        return Ok(None);
    };
    let device = answer.device(0)?;
    let found = device.suspicion(kind).with_context(|| format!("it does not name {kind}"))?;
    ensure!(device.kinds() == [kind], "more is suspected: {:?}", device.kinds());
    ensure!(found.pids == made.named, "{kind}: it names {:?}", found.pids);
    ensure!(found.bytes == Some(made.bytes), "{kind}: {:?} bytes", found.bytes);
    ensure!(!found.headline.is_empty(), "{kind}: no word");
    let says_why_not = WHY_NOT.iter().any(|words| found.because.contains(words));
    ensure!(found.command.is_some() || says_why_not, "{kind}: no command, and not why");
    Ok(found.command.clone())
}
