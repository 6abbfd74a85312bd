//! Every situation is named right, and where a command can free the memory, it does.

use anyhow::{Context, Result, ensure};
use whyoom_trace::Bytes;

use super::{
    Scene, Stage,
    answer::Answer,
    is_root,
    situations::{Made, SITUATIONS, Situation},
    skipped,
};

/// How it begins to say why nothing that can be typed frees the memory.
const WHY_NOT: &[&str] = &["No command", "No signal", "No process holds it"];

pub(super) fn run(stage: &Stage) -> Result<String> {
    let (mut named, mut freed) = (0, 0);
    for situation in SITUATIONS {
        if situation.needs_root && !is_root() {
            skipped(situation.name);
            continue;
        }
        let outcome = examine(stage, situation).with_context(|| situation.name)?;
        named += 1;
        freed += usize::from(matches!(outcome.advice, Advice::Freed(_)));
        println!("{:<40} {}", situation.name, outcome.told());
    }
    let all = SITUATIONS.len();
    Ok(format!("{named} of {all} situations named right; {freed} printed commands free the memory"))
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
            return "who holds what on each, no suspicion".to_owned();
        };
        let advice = match &self.advice {
            Advice::None => "no command can free it, and it says so".to_owned(),
            Advice::Freed(command) => format!("`{command}` freed it"),
            Advice::NotRun(command) => format!("`{command}`, which was not run here"),
        };
        format!("`{kind}`, {}; {advice}", Bytes(self.bytes))
    }
}

fn examine(stage: &Stage, situation: &Situation) -> Result<Outcome> {
    let mut scene = Scene::start(stage, situation.flags)?;
    let made = (situation.make)(&mut scene)?;
    judge(&scene, situation, &made)
}

/// Looks at what is, and does what is advised.
pub(super) fn judge(scene: &Scene, situation: &Situation, made: &Made) -> Result<Outcome> {
    let answer = scene.who(made.before)?;
    let holders_right = holders_are_right(scene, &answer, made);
    holders_right.with_context(|| answer.whole())?;
    let command = suspicion_is_right(&answer, situation, made).with_context(|| answer.whole())?;
    let anonymous = |command: &str| {
        let pids = made.named.iter().map(u32::to_string);
        pids.fold(command.to_owned(), |text, pid| text.replace(&pid, "PID"))
    };
    let advice = match &command {
        None => Advice::None,
        Some(command) if command.contains("nvidia-smi") => Advice::NotRun(anonymous(command)),
        Some(command) => {
            obey(scene, situation, made, command)?;
            Advice::Freed(anonymous(command))
        }
    };
    Ok(Outcome { kind: situation.kind, bytes: made.bytes, advice })
}

/// Runs the command that was printed: the memory is free then, and nothing is suspected any more.
fn obey(scene: &Scene, situation: &Situation, made: &Made, command: &str) -> Result<()> {
    let before = scene.machine().used(0);
    let expected = before.saturating_sub(made.bytes);
    ensure!(scene.obey(command, 0, expected)?, "{command}: the memory is still held");
    println!("    {command}: {} in use, then {}", Bytes(before), Bytes(expected));
    let answer = scene.who(made.before)?;
    let left = situation.kind.and_then(|kind| answer.suspicion(0, kind));
    ensure!(left.is_none(), "after {command} it is still suspected");
    Ok(())
}

/// Everybody who holds memory is shown with what the lab says, on the right device, and nobody else.
fn holders_are_right(scene: &Scene, answer: &Answer, made: &Made) -> Result<()> {
    ensure!(answer.devices() == scene.machine().device_count(), "other devices");
    for device in 0..answer.devices() {
        let mut shown = answer.holders(device);
        let here = made.holders.iter().filter(|(place, _)| *place == device);
        let expected = here.map(|(place, pid)| Ok((*pid, scene.held(*place, *pid)?)));
        let mut expected = expected.collect::<Result<Vec<_>>>()?;
        shown.sort_unstable();
        expected.sort_unstable();
        ensure!(shown == expected, "device {device}: {shown:?} in place of {expected:?}");
    }
    Ok(())
}

/// The suspicion has its kind, processes and bytes; its command, where one can free the memory.
fn suspicion_is_right(
    answer: &Answer,
    situation: &Situation,
    made: &Made,
) -> Result<Option<String>> {
    let Some(kind) = situation.kind else {
        let voiced: Vec<_> =
            (0..answer.devices()).flat_map(|device| answer.kinds(device)).collect();
        ensure!(voiced.is_empty(), "nothing is wrong, but it suspects {voiced:?}");
        return Ok(None);
    };
    let found = answer.suspicion(0, kind).with_context(|| format!("it does not name {kind}"))?;
    ensure!(answer.kinds(0) == [kind], "more is suspected: {:?}", answer.kinds(0));
    ensure!(found.pids() == made.named, "{kind}: it names {:?}", found.pids());
    ensure!(found.bytes() == Some(made.bytes), "{kind}: {:?} bytes", found.bytes());
    ensure!(!found.headline().is_empty(), "{kind}: no word");
    let says_why_not = WHY_NOT.iter().any(|words| found.because().contains(words));
    ensure!(found.command().is_some() || says_why_not, "{kind}: no command, and not why");
    Ok(found.command().map(str::to_owned))
}
