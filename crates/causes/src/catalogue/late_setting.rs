//! A setting was made too late, or another overrides it.

use whyoom_memory::{Incident, Interface};
use whyoom_trace::{Bytes, DeviceId, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    scene::Scene,
};

pub(super) const CAUSE: Cause = Cause {
    id: "late-setting",
    title: "a setting was made too late, or another overrides it",
    explanation: "\
The setting that would help was made, and has no effect: the allocator had read its variable before,
or another variable wins.

What it looks like: a snapshot whose settings say expandable_segments, with segments that are not
expandable; a log that sets both PYTORCH_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF, where the second
wins; os.environ[...] = ... below the import that reads it.

What helps: set it outside the program, before Python starts.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    // Neither variable has an effect under whyoom's pool.
    if scene.has_pool() {
        return None;
    }
    backend_changed(scene)
        .or_else(|| overridden(scene))
        .or_else(|| too_late(scene))
        .or_else(|| told_too_late(scene))
}

/// PyTorch itself says that its variable changed after it had been read.
fn backend_changed(scene: &Scene<'_>) -> Option<Finding> {
    if scene.symptom() != Some(Symptom::SettingTooLate) {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        "PyTorch's allocator was given another backend after it had read its settings",
        "It read them when it was imported, and found others at its first use of the GPU. No memory is wanting.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies = vec![Remedy::line(
        "export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync",
        "in the shell, before Python starts (in the program: above the first import of torch)",
    )];
    Some(finding)
}

/// The text shows that the variable was set behind the first use of the GPU.
fn told_too_late(scene: &Scene<'_>) -> Option<Finding> {
    let set = Some(scene.late_conf()).filter(|set| !set.is_empty() && scene.is_message())?;
    let cached = scene.situation.cache_that_would_do().filter(|_| scene.device_ran_out())?;
    if !set.contains("expandable_segments:True") {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        "expandable_segments was set after the GPU was in use, and has no effect",
        format!("{cached} is free in PyTorch's cache in pieces, which it would have joined up."),
    );
    finding.gives_back = Some(cached);
    finding.evidence.push(Evidence::text("set behind the first use", set, Basis::Message));
    finding.remedies = vec![Remedy::line(
        scene.set_conf("expandable_segments:True"),
        "in the shell, before Python starts; in a notebook: in the first cell, after a restart of the kernel",
    )];
    Some(finding)
}

fn overridden(scene: &Scene<'_>) -> Option<Finding> {
    let general = scene.setting("PYTORCH_ALLOC_CONF")?;
    let special = scene.setting("PYTORCH_CUDA_ALLOC_CONF")?;
    if general == special {
        return None;
    }
    // It explains the failure where what is overridden would have helped.
    let cached = scene.situation.cache_that_would_do().filter(|_| scene.device_ran_out());
    let would_help =
        general.contains("expandable_segments:True") && !special.contains("expandable");
    let strength =
        if cached.is_some() && would_help { Strength::Explains } else { Strength::Contributing };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        "PYTORCH_ALLOC_CONF is set, and PYTORCH_CUDA_ALLOC_CONF overrides it",
        format!("\"{special}\" is in force, \"{general}\" is not."),
    );
    finding.gives_back = cached;
    finding.evidence.extend([
        Evidence::text("PYTORCH_ALLOC_CONF", general, Basis::Message),
        Evidence::text("PYTORCH_CUDA_ALLOC_CONF", special, Basis::Message),
    ]);
    finding.remedies =
        vec![Remedy::line("unset PYTORCH_CUDA_ALLOC_CONF", "let the other one through")];
    Some(finding)
}

/// Whether PyTorch asked the driver in the way of expandable segments when it was refused.
fn asked_as_expandable(scene: &Scene<'_>) -> bool {
    let by_pages = |incident: &Incident| {
        incident.interface == Some(Interface::Virtual) && incident.totals.is_some()
    };
    scene.incident.is_some_and(by_pages) && !scene.situation.by_driver
}

fn too_late(scene: &Scene<'_>) -> Option<Finding> {
    let space = scene.space.filter(|_| scene.device != DeviceId::HOST)?;
    let fixed_bytes = scene.in_fixed_segments();
    let switched_on = space.has_expandable_segments() || asked_as_expandable(scene);
    if fixed_bytes == Bytes::ZERO || !(switched_on || scene.expandable_segments_asked()) {
        return None;
    }
    // It explains a failure that the setting, made in time, could have prevented.
    let covers = scene.situation.cache_that_would_do().is_some();
    let share = fixed_bytes.share_of(space.totals().reserved);
    let strength = if scene.device_ran_out() && covers && share > 0.5 {
        Strength::Explains
    } else {
        Strength::Contributing
    };
    let headline = match switched_on {
        true => "expandable_segments was switched on after memory had been taken without it",
        false => {
            "expandable_segments is set, and has no effect: PyTorch had read its settings before"
        }
    };
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        headline,
        format!("{fixed_bytes} lies in segments that were made without it."),
    );
    finding.gives_back = scene.situation.cached;
    finding.evidence.push(Evidence::bytes("in fixed segments", fixed_bytes, Basis::Recorded));
    finding.remedies = vec![Remedy::line(
        scene.set_conf("expandable_segments:True"),
        "in the shell, before Python starts (in the program: above the first import of torch): then \
         every segment is expandable",
    )];
    Some(finding)
}
