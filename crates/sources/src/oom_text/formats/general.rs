//! A failure in anybody's words (format G): what the first two layers read where no exact format does.

use std::sync::LazyLock;

use regex::Regex;
use whyoom_trace::{Bytes, Counter, Software, Symptom};

use crate::oom_text::{
    amount::{IMPOSSIBLE, regex},
    failure::{Voice, failure, is_prose},
    figures::{Role, figures, first},
    known,
    message::{Message, Weight},
    window::Window,
};

/// The id of the format.
pub(in crate::oom_text) const GENERAL: &str = "G";

static DEVICE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(?:gpu|device|dev|cuda)[ :_#]{0,2}(\d{1,2})\b"));
/// A line of `name: figure`, which goes on with what the line before says.
static CONTINUES: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)^\W*(?:[a-z][a-z ()_-]{2,40})\s*[:=]\s*\(?[\d.,]+\s*(?:[kmgt]i?b|bytes)?")
});

/// Words for a process that is no more.
static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\bkill(?:ed|ing|s)?\b|\bterminat|\bexit(?:ed|s|ing)?\b|zombie|\bcrash|\bended\b|ctrl.?c|interrupt|\bstopped\b|\bclosed\b|进程|退出|结束",
    )
});

/// Reads the failure that the window's line tells of.
pub(in crate::oom_text) fn parse(window: &Window<'_>) -> Option<Message> {
    let line = [window.prefix(), window.line()].concat();
    let known = known::row(&line).filter(|row| {
        // Of a program that runs, its allocator's cache may be meant.
        row.symptom != Symptom::HeldAfterEnd || ENDED.is_match(window.near())
    });
    let failure = match known {
        Some(_) => None,
        None => Some(failure(&line, window.near())?),
    };
    let voice = failure.map_or(Voice::Machine, |failure| failure.voice);
    let symptom = known.map(|row| row.symptom).or(failure.map(|failure| failure.symptom))?;
    let software = known.map_or_else(|| known::software(&line, window.near()), |row| row.software);
    let text = with_figures_behind(&line, window);
    let told = if voice == Voice::Machine { figures(&text) } else { Vec::new() };
    let device = DEVICE.captures(&line).map(|found| found[1].to_owned());
    let mut message = Message::new(GENERAL, software, symptom).on(device.as_deref());
    let of_host = is_of_host(symptom);
    // What is in use on a device is not told to be this program's, unless a limit of its own is told beside it.
    let limited = first(&told, Role::Limit).is_some() || software == Software::Paddle;
    for role in [Role::Demand, Role::Free, Role::Total, Role::Limit, Role::Used, Role::Reserved] {
        let of_program = matches!(role, Role::Used | Role::Reserved);
        let amount = first(&told, role).filter(|_| of_host || limited || !of_program);
        message = message.with(counter(role, of_host), amount);
    }
    message.weight = match (voice, known) {
        (_, Some(_)) => Weight::Known,
        (Voice::Machine, None) if has_figures(&message) => Weight::Figures,
        (Voice::Machine, None) => Weight::Words,
        (Voice::Mention, None) => Weight::Mention,
    };
    if is_bogus(&text) {
        message.symptom = Symptom::BogusSize;
    }
    message.recovered = RECOVERED.is_match(&line) || RECOVERED.is_match(&few_behind(window));
    Some(consistent(message))
}

/// Whether a size is asked for that no machine has.
fn is_bogus(text: &str) -> bool {
    let size = BOGUS.captures(text).and_then(|found| found[1].parse::<f64>().ok());
    size.is_some_and(|size| size >= IMPOSSIBLE)
}

static BOGUS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)(?:size|allocate|alloc|requested)\D{0,24}(\d{19,20})\b"));

/// What programs say that go on after a failure.
static RECOVERED: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)falling back to|retrying (?:without|with|as)|skipping tactic|will (?:be )?retr(?:y|ied) with|device store spilled",
    )
});

/// The next lines.
fn few_behind(window: &Window<'_>) -> String {
    window.after().lines().take(5).collect::<Vec<_>>().join("\n")
}

/// The line with the lines behind it that only add figures to it.
fn with_figures_behind(line: &str, window: &Window<'_>) -> String {
    let behind = window.after();
    let own = indent(line);
    let goes_on =
        |line: &&str| !is_prose(line) && (CONTINUES.is_match(line) || is_account(line, own));
    let more = behind.lines().skip(1).take(4).take_while(goes_on);
    std::iter::once(line).chain(more).collect::<Vec<_>>().join("\n")
}

/// How far a line is set in.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line that is set in farther than the message only adds figures: `  Reported by CUDA: Free memory/Total memory: 22635/85095`.
fn is_account(line: &str, message: usize) -> bool {
    indent(line) > message && figures(line).len() > 1
}

/// The counter of a role. Of the host, free and total are not the device's.
fn counter(role: Role, of_host: bool) -> Counter {
    match (role, of_host) {
        (Role::Total | Role::Limit, true) => Counter::HostLimit,
        (Role::Used | Role::Reserved, true) => Counter::HostResident,
        (Role::Free, true) => Counter::RoomLeft,
        _ => role.counter(),
    }
}

fn is_of_host(symptom: Symptom) -> bool {
    matches!(
        symptom,
        Symptom::HostOutOfMemory
            | Symptom::HostKilled
            | Symptom::Killed
            | Symptom::PinnedOutOfMemory
    )
}

fn has_figures(message: &Message) -> bool {
    let told = |wanted| message.counters.iter().any(|(counter, _)| *counter == wanted);
    told(Counter::Requested) || told(Counter::DeviceFree)
}

/// A total that is less than what is free is none.
fn consistent(mut message: Message) -> Message {
    let value = |wanted| {
        let found = message.counters.iter().find(|(counter, _)| *counter == wanted);
        found.map(|(_, bytes)| *bytes)
    };
    let Some(total) = value(Counter::DeviceTotal) else { return message };
    if value(Counter::DeviceFree).is_some_and(|free: Bytes| free > total) {
        message.counters.retain(|(counter, _)| *counter != Counter::DeviceTotal);
    }
    message
}
