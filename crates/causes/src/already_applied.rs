//! No advice that is followed already.

use whyoom_trace::Bytes;

use crate::{
    diagnosis::Diagnosis,
    finding::{Finding, Remedy},
    seen_code,
};

/// Code whose traces in the stacks show that a line is in the program already: what a line to paste
/// contains, and what a frame's file or function then contains.
const TRACES: [(&str, &[&str]); 5] = [
    ("checkpointing", &["torch/utils/checkpoint.py"]),
    ("torch.utils.checkpoint", &["torch/utils/checkpoint.py"]),
    // Of bitsandbytes the weights may be used alone.
    ("bitsandbytes.optim", EIGHT_BIT_OPTIMIZERS),
    ("adamw_bnb_8bit", EIGHT_BIT_OPTIMIZERS),
    ("attn_implementation=\"sdpa\"", &["sdpa_attention", "flash_attn", "flash_attention"]),
];

/// Code of optimizers whose state takes 8 bits or less.
const EIGHT_BIT_OPTIMIZERS: &[&str] = &["bitsandbytes/optim/", "torchao/optim/", "low_bit_optim/"];

/// Takes off a finding's list what the run has already. A setting that came too late is no such: there
/// the line says where it belongs.
pub(crate) fn keep_new(diagnosis: &Diagnosis<'_>, finding: &mut Finding) {
    if finding.cause == "late-setting" || finding.remedies.is_empty() {
        return;
    }
    let cause = finding.cause;
    finding.remedies.retain(|remedy| !is_applied(diagnosis, cause, remedy));
    if finding.remedies.is_empty() {
        finding.remedies.push(Remedy::advice(format!(
            "the usual fixes are already applied; `whyoom causes {}` lists what else helps",
            finding.cause
        )));
    }
}

fn is_applied(diagnosis: &Diagnosis<'_>, cause: &str, remedy: &Remedy) -> bool {
    if remedy.setting == Some("expandable_segments:True") && diagnosis.expandable_segments_on() {
        return true;
    }
    let Some(line) = remedy.code() else { return false };
    let words = line.split_once(' ');
    match words {
        Some(("export" | "set", assignment)) => is_set(diagnosis, assignment.trim_matches('\'')),
        Some(("unset", names)) => {
            let mut names = names.split_whitespace();
            diagnosis.was_recorded() && names.all(|name| diagnosis.setting(name).is_none())
        }
        // Where a cap is the cause, a line that names another one raises it.
        _ => (cause != "limit" && is_capped(diagnosis, line)) || is_in_stacks(diagnosis, line),
    }
}

/// Whether a variable has that value, or a number that asks for less still.
fn is_set(diagnosis: &Diagnosis<'_>, assignment: &str) -> bool {
    let Some((name, wanted)) = assignment.split_once('=') else { return false };
    let Some(value) = diagnosis.setting(name) else { return false };
    let number = |text: &str| text.parse::<f64>().ok();
    let asks_for_less = number(value).zip(number(wanted)).is_some_and(|(now, then)| now <= then);
    // A list of options may be in another order.
    let options = |text: &str| {
        let mut options: Vec<String> = text.split(',').map(str::to_owned).collect();
        options.sort_unstable();
        options
    };
    value == wanted || asks_for_less || options(value) == options(wanted)
}

/// Whether PyTorch is capped already at that share of the device, or below it.
fn is_capped(diagnosis: &Diagnosis<'_>, line: &str) -> bool {
    let share = line.strip_prefix("torch.cuda.set_per_process_memory_fraction(");
    let share: Option<f64> = share.and_then(|rest| rest.strip_suffix(')')?.parse().ok());
    let capped = diagnosis.observed.allowed.zip(diagnosis.observed.capacity);
    let capped = capped.filter(|(allowed, _)| *allowed > Bytes::ZERO);
    let in_force = capped.map(|(allowed, capacity)| allowed.share_of(capacity));
    share.zip(in_force).is_some_and(|(share, in_force)| in_force <= share)
}

fn is_in_stacks(diagnosis: &Diagnosis<'_>, line: &str) -> bool {
    let Some((_, traces)) = TRACES.iter().find(|(code, _)| line.contains(code)) else {
        return false;
    };
    seen_code::any_named(diagnosis, traces)
}
