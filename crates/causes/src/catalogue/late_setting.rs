//! A setting was made too late, or another overrides it.

use whyoom_allocators::policies::pytorch::READS_ALLOC_CONF;
use whyoom_memory::{Incident, Interface};
use whyoom_trace::{Bytes, DeviceId, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    quotation_marks::text_in_quotation_marks,
};

pub(super) const CAUSE: Cause = Cause {
    id: "late-setting",
    title: "a setting is applied too late, or another one overrides it",
    explanation: "\
The setting that would help is present but has no effect: the allocator had already read its
variable, or another variable takes precedence.

Symptoms: a snapshot whose settings contain expandable_segments, with segments that are not
expandable; a log that sets both PYTORCH_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF, of which the second
takes precedence; PYTORCH_ALLOC_CONF with PyTorch 2.9 or older, which ignores it on CUDA;
os.environ[...] = ... below the import that reads it.

What helps: set it outside the program, before Python starts.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    // Neither variable has an effect under whyoom's pool.
    if diagnosis.has_pool() {
        return None;
    }
    backend_changed(diagnosis)
        .or_else(|| overridden(diagnosis))
        .or_else(|| ignored(diagnosis))
        .or_else(|| too_late(diagnosis))
        .or_else(|| set_too_late(diagnosis))
}

/// PyTorch itself says that its variable changed after it had been read.
fn backend_changed(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if diagnosis.symptom() != Some(Symptom::SettingTooLate) {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        "PyTorch's allocator backend changed after PyTorch had read its settings",
        "PyTorch read them at import and found different ones at its first use of the GPU. Memory \
         did not run out.",
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies = vec![Remedy::line(
        "export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync",
        "in the shell, before Python starts (in the program: above the first import of torch)",
    )];
    Some(finding)
}

/// The text shows that the variable was set behind the first use of the GPU.
fn set_too_late(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let set =
        Some(diagnosis.late_conf()).filter(|set| !set.is_empty() && diagnosis.is_message())?;
    let cached = diagnosis.observed.cache_that_would_do().filter(|_| diagnosis.device_ran_out())?;
    if !set.contains("expandable_segments:True") || diagnosis.on_windows() {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        "expandable_segments was set after the first use of the GPU and has no effect",
        format!(
            "{cached} is free in PyTorch's cache in small blocks, which expandable segments \
                 would have merged."
        ),
    );
    finding.reclaimable = Some(cached);
    finding.evidence.push(Evidence::text("set after the first use", set, Basis::Message));
    finding.remedies = vec![diagnosis.set_conf(
        "expandable_segments:True",
        "in the shell, before Python starts; in a notebook: in the first cell, after a restart of the kernel",
    )];
    Some(finding)
}

fn overridden(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let general = diagnosis.setting("PYTORCH_ALLOC_CONF")?;
    let special = diagnosis.setting("PYTORCH_CUDA_ALLOC_CONF")?;
    if general == special {
        return None;
    }
    // It explains the failure where what is overridden would have helped.
    let cached = diagnosis.observed.cache_that_would_do().filter(|_| diagnosis.device_ran_out());
    let would_help =
        general.contains("expandable_segments:True") && !special.contains("expandable");
    let strength =
        if cached.is_some() && would_help { Strength::Explains } else { Strength::Contributing };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        "PYTORCH_ALLOC_CONF is set, but PYTORCH_CUDA_ALLOC_CONF overrides it",
        format!(
            "{} is in effect, {} is not.",
            text_in_quotation_marks(special),
            text_in_quotation_marks(general)
        ),
    );
    finding.reclaimable = cached;
    finding.evidence.extend([
        Evidence::text("PYTORCH_ALLOC_CONF", general, Basis::Message),
        Evidence::text("PYTORCH_CUDA_ALLOC_CONF", special, Basis::Message),
    ]);
    // Not `unset`: PyTorch 2.6 and 2.9 ignore the other variable by itself (measured).
    let what =
        "has the settings of both variables, and takes precedence in every version of PyTorch";
    finding.remedies = vec![diagnosis.conf_variable().add(general, what)];
    Some(finding)
}

/// The release does not read the variable that is set.
fn ignored(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let conf = diagnosis.setting("PYTORCH_ALLOC_CONF").filter(|conf| !conf.is_empty())?;
    let release = diagnosis.torch_release()?;
    let is_hidden = diagnosis.setting("PYTORCH_CUDA_ALLOC_CONF").is_some();
    if is_hidden || !diagnosis.ignores_alloc_conf() {
        return None;
    }
    let cached = diagnosis.observed.cache_that_would_do().filter(|_| diagnosis.device_ran_out());
    let would_help = conf.contains("expandable_segments:True") && !diagnosis.on_windows();
    let strength =
        if cached.is_some() && would_help { Strength::Explains } else { Strength::Contributing };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        format!("PYTORCH_ALLOC_CONF has no effect on CUDA in PyTorch {release}"),
        format!(
            "{} is not in effect: PyTorch reads that variable from {READS_ALLOC_CONF} on (pytorch#183387).",
            text_in_quotation_marks(conf)
        ),
    );
    finding.reclaimable = cached;
    finding.evidence.push(Evidence::text("PYTORCH_ALLOC_CONF", conf, Basis::Message));
    let what = "the variable that every PyTorch reads";
    finding.remedies = vec![diagnosis.conf_variable().add(conf, what)];
    Some(finding)
}

/// Whether PyTorch asked the driver in the way of expandable segments when it was refused.
fn asked_as_expandable(diagnosis: &Diagnosis<'_>) -> bool {
    let by_pages = |incident: &Incident| {
        incident.interface == Some(Interface::Virtual) && incident.totals.is_some()
    };
    diagnosis.incident.is_some_and(by_pages) && !diagnosis.observed.by_driver
}

fn too_late(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let space = diagnosis.space.filter(|_| diagnosis.device != DeviceId::HOST)?;
    let fixed_bytes = diagnosis.in_fixed_segments();
    let switched_on = space.has_expandable_segments() || asked_as_expandable(diagnosis);
    if fixed_bytes == Bytes::ZERO || !(switched_on || diagnosis.expandable_segments_asked()) {
        return None;
    }
    // It explains a failure that the setting, made in time, could have prevented.
    let covers = diagnosis.observed.cache_that_would_do().is_some();
    let share = fixed_bytes.share_of(space.totals().reserved);
    let strength = if diagnosis.device_ran_out() && covers && share > 0.5 {
        Strength::Explains
    } else {
        Strength::Contributing
    };
    let headline = match switched_on {
        true => "expandable_segments was enabled after memory had been reserved without it",
        false => {
            "expandable_segments is set but has no effect: PyTorch had already read its settings"
        }
    };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        strength,
        headline,
        format!("{fixed_bytes} is in segments that were reserved without it."),
    );
    finding.reclaimable = diagnosis.observed.cached;
    finding.evidence.push(Evidence::bytes("in fixed segments", fixed_bytes, Basis::Recorded));
    finding.remedies = vec![diagnosis.set_conf(
        "expandable_segments:True",
        "in the shell, before Python starts (in the program: above the first import of torch): then \
         every segment is expandable",
    )];
    Some(finding)
}
