//! The answer in one line.

use whyoom_diff::{Comparison, Explanation, KindChange, RankComparison, Reason};
use whyoom_memory::UNKNOWN_CALL_SITE;
use whyoom_trace::Bytes;

use super::words::{more_or_less, signed};

/// Explanations that the first line has.
const IN_HEADLINE: usize = 2;
/// What the first must leave unexplained for a second.
const WORTH_A_SECOND: f64 = 0.1;
/// Kinds that are named one by one.
const KINDS: usize = 4;

/// The answer in one line, of the rank that differs most.
#[must_use]
pub fn diff_headline(comparison: &Comparison) -> String {
    match comparison.ranks.as_slice() {
        [] => "A and B have no process and device in common".to_owned(),
        [only] => of_rank(only),
        [worst, ..] if comparison.ranks.iter().all(|rank| rank.unchanged) => {
            format!("{} (all {} ranks)", of_rank(worst), comparison.ranks.len())
        }
        [worst, ..] => {
            let name =
                worst.rank.map_or_else(|| worst.name_b.clone(), |rank| format!("rank {rank}"));
            format!("{name} differs most: {}", of_rank(worst))
        }
    }
}

/// The answer for one rank.
pub(crate) fn of_rank(rank: &RankComparison) -> String {
    if rank.unchanged {
        let reserved = match rank.reserved() {
            0 => format!("{} reserved", Bytes(rank.b.reserved)),
            bytes => format!("{} reserved, {}", Bytes(rank.b.reserved), more_or_less(bytes)),
        };
        return format!("Nothing changed: both peak at {} ({reserved})", Bytes(rank.b.peak));
    }
    let bytes = rank.bytes();
    let mut parts = Vec::new();
    let first = if bytes.unsigned_abs() <= rank.noise {
        format!("Both peak at {}", Bytes(rank.b.peak))
    } else {
        let (a, b) = (Bytes(rank.a.peak), Bytes(rank.b.peak));
        format!("B needs {} at its peak ({a} to {b})", more_or_less(bytes))
    };
    let mut unexplained = bytes.unsigned_abs() as f64;
    for explanation in rank.explanations().iter().take(IN_HEADLINE) {
        if !parts.is_empty() && unexplained < WORTH_A_SECOND * bytes.unsigned_abs() as f64 {
            break;
        }
        unexplained -= explanation.bytes.unsigned_abs() as f64;
        parts.push(format!("{} {}", amount(explanation, bytes), clause(explanation, rank)));
    }
    if rank.explanations().is_empty()
        && let Some(steady) = rank.steady.as_ref().and_then(|steady| steady.explanations.first())
    {
        parts.push(format!("in steady state {} {}", signed(steady.bytes), clause(steady, rank)));
    }
    parts.extend(moved(rank));
    parts.extend(reserved(rank));
    if parts.is_empty() { first } else { format!("{first}: {}", parts.join("; ")) }
}

/// The amount of an explanation; with its sign where it goes against the whole.
fn amount(explanation: &Explanation, whole: i64) -> String {
    let against = (explanation.bytes > 0) != (whole > 0);
    if against {
        signed(explanation.bytes)
    } else {
        Bytes(explanation.bytes.unsigned_abs()).to_string()
    }
}

/// What the allocator holds beyond what is allocated.
fn reserved(rank: &RankComparison) -> Option<String> {
    let bytes = rank.unallocated();
    let worth_a_word = WORTH_A_SECOND * rank.bytes().unsigned_abs() as f64;
    if bytes.unsigned_abs() <= rank.noise || (bytes.unsigned_abs() as f64) < worth_a_word {
        return None;
    }
    let verb = if bytes > 0 { "rises" } else { "falls" };
    let amount = Bytes(bytes.unsigned_abs());
    let setting = rank.settings.iter().find(|one| {
        one.explains
            && rank.explanations().iter().all(|other| other.because.as_ref() != Some(&one.name))
    });
    let because = setting.map(|one| {
        let value = one.b.clone().unwrap_or_else(|| "not set".to_owned());
        format!(", which {} ({value} in B) explains", one.name)
    });
    Some(format!(
        "memory that is reserved but unallocated {verb} by {amount}{}",
        because.unwrap_or_default()
    ))
}

/// What an explanation says, without its amount.
pub(crate) fn clause(explanation: &Explanation, rank: &RankComparison) -> String {
    let kinds = kinds(explanation);
    let (of_module, made_at) = (of_module(explanation), made_at(explanation));
    let only = |bytes: i64| if bytes > 0 { "only in B" } else { "only in A" };
    let text = match explanation.reason {
        Reason::Kept { bytes_per_iteration, iterations } => {
            let run = if explanation.bytes > 0 { "B" } else { "A" };
            let each = Bytes(bytes_per_iteration);
            format!(
                "{kinds}{of_module} that each iteration of {run} leaves behind ({each} each, \
                 {iterations} iterations){made_at}"
            )
        }
        Reason::Modules { count } => {
            let modules = if count == 1 { "a module" } else { "modules" };
            let number = if count > 1 { format!("{count} ") } else { String::new() };
            format!("{kinds}{of_module}: {number}{modules} {}{made_at}", only(explanation.bytes))
        }
        Reason::Scaled { factor, squared } => {
            let what = if squared { "sequence length" } else { "batch or sequence length" };
            let whole = rank.same_phase.as_ref().map_or(rank.b.peak, |same| same.view.b);
            let fixed = Bytes(whole.saturating_sub(explanation.b.bytes));
            format!("scale with the {what} (factor {factor:.2}): {kinds}{made_at}; {fixed} do not")
        }
        Reason::Precision { factor } => {
            format!("{kinds}: everything is {factor} times as large, as by another precision")
        }
        Reason::Appeared => format!("{kinds}{of_module}, only in B{made_at}"),
        Reason::Vanished => format!("{kinds}{of_module}, only in A{made_at}"),
        Reason::Grew | Reason::Shrank => format!("{kinds}{of_module}{made_at}"),
    };
    let verb = match explanation.reason {
        Reason::Scaled { .. } => "",
        _ => "are ",
    };
    match because(explanation, rank) {
        Some(because) => format!("{verb}{text} ({because})"),
        None => format!("{verb}{text}"),
    }
}

/// `gradients`; of several kinds each with its amount.
fn kinds(explanation: &Explanation) -> String {
    let worth_a_word = explanation.bytes.unsigned_abs() / 50;
    let is_told = |kind: &&KindChange| kind.bytes != 0 && kind.bytes.unsigned_abs() >= worth_a_word;
    let told: Vec<&KindChange> = explanation.categories.iter().filter(is_told).collect();
    match told.as_slice() {
        [] => explanation.category().to_owned(),
        [only] => only.category.to_string(),
        several => {
            let kinds = several.iter().take(KINDS);
            let kinds: Vec<String> =
                kinds.map(|kind| format!("{} {}", kind.category, signed(kind.bytes))).collect();
            kinds.join(", ")
        }
    }
}

fn of_module(explanation: &Explanation) -> String {
    let Some(module) = &explanation.module else { return String::new() };
    let list = module.strip_suffix(".*").unwrap_or(module);
    match (module.is_empty(), explanation.members) {
        (true, _) => " of the model".to_owned(),
        (false, 0 | 1) => format!(" of `{list}`"),
        (false, members) => format!(" of `{list}` ({members})"),
    }
}

fn made_at(explanation: &Explanation) -> String {
    let Some(site) = explanation.sites.first() else { return String::new() };
    if site.site == UNKNOWN_CALL_SITE {
        return ", allocated before the history begins or without a stack".to_owned();
    }
    let callee = site.callee.as_ref().map(|callee| format!(" ({callee})")).unwrap_or_default();
    let many = explanation.sites.len() > 1;
    let made = if many { "most of it made at" } else { "made at" };
    format!(", {made} {}{callee}", site.site)
}

fn because(explanation: &Explanation, rank: &RankComparison) -> Option<String> {
    let name = explanation.because.as_ref()?;
    let setting = rank.settings.iter().find(|setting| setting.name == *name)?;
    Some(match (&setting.a, &setting.b) {
        (Some(_), None) => format!("{name} is only in A"),
        (None, Some(_)) => format!("{name} is only in B"),
        (Some(a), Some(b)) if a.len() + b.len() < 60 => format!("{name}: {a} in A, {b} in B"),
        _ => format!("{name} differs"),
    })
}

/// Where the two peaks are in other phases: what the other run had left in that phase below its own peak.
fn moved(rank: &RankComparison) -> Option<String> {
    let same = rank.same_phase.as_ref()?;
    let (other, name, peak, then) = if rank.a.peak > rank.b.peak {
        (rank.b.peak_phase, "B", rank.b.peak, same.view.b)
    } else {
        (rank.a.peak_phase, "A", rank.a.peak, same.view.a)
    };
    let lower = Bytes(peak.saturating_sub(then));
    Some(format!(
        "the peak of {name} is in {}, and {lower} higher than its peak in {}",
        in_phase(other),
        in_phase(same.phase)
    ))
}

/// A phase in a sentence.
fn in_phase(phase: &str) -> String {
    match phase {
        "optimizer step" => "the optimizer step".to_owned(),
        "outside the model" => "code outside the model".to_owned(),
        other => other.to_owned(),
    }
}
