//! A setting was made too late, or another overrides it.

use whyoom_trace::{Bytes, DeviceId};

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
    overridden(scene).or_else(|| too_late(scene))
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

fn too_late(scene: &Scene<'_>) -> Option<Finding> {
    let space = scene.space.filter(|_| scene.device != DeviceId::HOST)?;
    if scene.setting("expandable_segments") != Some("true") {
        return None;
    }
    let fixed_bytes: Bytes = space
        .segments()
        .filter(|(_, s)| s.growth == whyoom_trace::SegmentGrowth::Fixed && s.pool.0 == 0)
        .map(|(_, segment)| segment.size)
        .sum();
    if fixed_bytes == Bytes::ZERO {
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
    let mut finding = scene.finding(
        CAUSE.id,
        strength,
        "expandable_segments was switched on after memory had been taken without it",
        format!("{fixed_bytes} of segments were made before the setting took effect."),
    );
    finding.gives_back = scene.situation.cached;
    finding.evidence.push(Evidence::bytes("in fixed segments", fixed_bytes, Basis::Recorded));
    finding.remedies = vec![Remedy::line(
        scene.set_conf("expandable_segments:True"),
        "in the shell, before Python starts: then every segment is expandable",
    )];
    Some(finding)
}
