//! A framework or server takes a share of the device in advance.

use whyoom_trace::{Bytes, Counter, Software, Symptom};

use crate::{
    cause::Cause,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    outside::block_in_advance,
    scene::Scene,
    server_share::{cache_beyond_share, shorter},
};

pub(super) const CAUSE: Cause = Cause {
    id: "preallocated",
    title: "a framework or server takes a fixed share of the device in advance",
    explanation: "\
Some programs take most of the device when they start, whether they need it or not: JAX three
quarters of what is free, TensorFlow nearly all, vLLM a share of the *total* (not of what is free)
set by --gpu-memory-utilization. Whoever comes second, or a library inside the same process that
allocates by itself (NCCL, cuBLAS), then finds nothing.

What it looks like: \"Free memory on device (19.77/22.05 GiB) on startup is less than desired GPU
memory utilization\"; an NCCL or cuBLAS allocation that fails inside a JAX program.

What helps: a smaller share, set before the framework is imported. The variables are read once.",
    check,
};

fn check(scene: &Scene<'_>) -> Option<Finding> {
    match scene.symptom() {
        Some(Symptom::PreallocationFailed) => {
            share_not_free(scene).or_else(|| taken_at_start(scene))
        }
        Some(Symptom::ShareTooLarge) => Some(share_too_large(scene)),
        Some(Symptom::ShareTooSmall) => share_too_small(scene),
        Some(Symptom::LibraryAllocFailed) => {
            library_beside_tensorflow(scene).or_else(|| library_beside_xla(scene))
        }
        Some(Symptom::Disguised) => library_beside_tensorflow(scene),
        Some(Symptom::DeviceOutOfMemory) => {
            beside_tensorflow(scene).or_else(|| beside_server(scene))
        }
        Some(_) => None,
        None => beside_arena(scene).or_else(|| beside_block(scene)),
    }
}

/// What TensorFlow told that it takes when it starts, unless it was told to grow.
fn tensorflow_share(scene: &Scene<'_>) -> Option<Bytes> {
    let share: u64 = scene.setting("tensorflow_share_mb")?.parse().ok()?;
    let grows = scene.setting("TF_FORCE_GPU_ALLOW_GROWTH") == Some("true");
    share.checked_mul(1 << 20).map(Bytes).filter(|_| !grows)
}

/// Whoever allocates beside TensorFlow finds the rest.
fn beside_tensorflow(scene: &Scene<'_>) -> Option<Finding> {
    let share = tensorflow_share(scene)?;
    if scene.software() == Some(Software::TensorFlow) || !scene.device_ran_out() {
        return None;
    }
    let (unexplained, lacking) = (scene.situation.unexplained()?, scene.situation.lacking()?);
    // Its share must be what is missing: it is in use, and nothing else that was told of has it.
    if share < lacking || unexplained.0 < share.0 / 2 {
        return None;
    }
    let because = format!("{} TensorFlow's log says what it took.", sentence(scene));
    let mut finding = of_tensorflow(scene, share, "what allocates", because);
    finding.gives_back = Some(lacking);
    Some(finding)
}

/// A library that TensorFlow uses allocates by itself.
fn library_beside_tensorflow(scene: &Scene<'_>) -> Option<Finding> {
    let share = tensorflow_share(scene)?;
    let library = scene.software().map_or("a library", Software::name);
    let because = "Its log says what it took; such libraries allocate outside that.".to_owned();
    let mut finding = of_tensorflow(scene, share, library, because);
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    Some(finding)
}

fn of_tensorflow(scene: &Scene<'_>, share: Bytes, beside: &str, because: String) -> Finding {
    let headline =
        format!("TensorFlow took {share} in advance, and {beside} beside it finds nothing left");
    let mut finding = scene.finding(CAUSE.id, Strength::Explains, headline, because);
    finding.evidence.push(Evidence::bytes("taken by TensorFlow in advance", share, Basis::Message));
    finding.remedies = vec![
        Remedy::line(
            "export TF_FORCE_GPU_ALLOW_GROWTH=true",
            "before Python starts: it then takes only what it uses",
        ),
        Remedy::line(
            "tf.config.experimental.set_memory_growth(tf.config.list_physical_devices(\"GPU\")[0], True)",
            "the same, right behind its import",
        ),
    ];
    finding
}

/// Servers that take a share in advance: the setting that tells it, the option, and whose it is.
const SERVERS: &[(&str, &str, &str)] = &[
    ("gpu_memory_utilization", "--gpu-memory-utilization", "vLLM"),
    ("mem_fraction_static", "--mem-fraction-static", "SGLang"),
];
/// A smaller share leaves room for what works beside it.
const LARGE_SHARE: f64 = 0.92;
/// So much less is advised.
const SMALLER_BY: f64 = 0.08;

/// A server was told to take nearly everything in advance, and what works beside its share (the capture of
/// graphs, for one) found no room.
fn beside_server(scene: &Scene<'_>) -> Option<Finding> {
    let told = |name: &str| scene.setting(name)?.parse::<f64>().ok();
    let (share, option, server) = SERVERS
        .iter()
        .find_map(|(name, option, server)| Some((told(name)?, *option, *server)))
        .filter(|(share, ..)| *share >= LARGE_SHARE)?;
    let situation = &scene.situation;
    // Where figures are told, the share must have been taken.
    let taken = situation.allocated.zip(situation.capacity);
    let taken = taken.is_none_or(|(held, all)| held.share_of(all) >= share - 0.1);
    if scene.software() != Some(Software::PyTorch) || !scene.device_refused() || !taken {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        format!(
            "{server} took {:.0} % of the GPU in advance, and what works beside it finds nothing",
            share * 100.0
        ),
        format!("{option} is {share}. {}", sentence(scene)).trim_end().to_owned(),
    );
    finding.gives_back = situation.lacking();
    finding.evidence.push(Evidence::share("taken in advance", share, Basis::Message));
    finding.remedies = vec![Remedy::line(
        format!("{option} {:.2}", share - SMALLER_BY),
        "a smaller share leaves room for graphs, workspaces and the sampler",
    )];
    Some(finding)
}

/// What was missing, as a sentence.
fn sentence(scene: &Scene<'_>) -> String {
    scene.situation.missing().map_or(String::new(), |missing| format!("{missing}."))
}

/// The smallest and the largest that an arena can be of what its share says, of the whole device: a context and
/// others may have had some of that.
const SMALLEST_ARENA: f64 = 0.6;
const LARGEST_ARENA: f64 = 1.01;

/// A recorded run: one block is the share that JAX takes when it starts, and somebody else asked beside it.
fn beside_arena(scene: &Scene<'_>) -> Option<Finding> {
    let share: f64 = scene.setting("XLA_PYTHON_CLIENT_MEM_FRACTION")?.parse().ok()?;
    let situation = &scene.situation;
    if preallocates_not(scene) || !scene.device_ran_out() || !situation.by_driver {
        return None;
    }
    let (capacity, lacking) = (situation.capacity?, situation.lacking()?);
    let blocks = scene.space?.driver()?.layer().blocks().map(|(_, block)| block);
    let arena = blocks.max_by_key(|block| block.size)?;
    let of_share = arena.size.share_of(capacity) / share;
    let beside = scene.place(scene.incident?.stack) != scene.place(arena.stack);
    if !beside || !(SMALLEST_ARENA..=LARGEST_ARENA).contains(&of_share) || arena.size < lacking {
        return None;
    }
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!(
            "{} was taken in advance, and what allocates beside it finds too little",
            arena.size
        ),
        format!("XLA_PYTHON_CLIENT_MEM_FRACTION is {share}. {}", sentence(scene)),
    );
    finding.gives_back = Some(lacking);
    finding.evidence.push(Evidence::bytes("taken in advance", arena.size, Basis::Recorded));
    // A tenth more than is missing: the next request of the same kind is not far.
    let needed = share * (1.0 - lacking.share_of(arena.size) * 1.1);
    finding.remedies = vec![smaller_share(needed.min(share * 0.8))];
    Some(finding)
}

/// PyTorch lacks what another part of the program took in advance.
fn beside_block(scene: &Scene<'_>) -> Option<Finding> {
    let (stack, bytes) = block_in_advance(scene)?;
    let (lacking, place) = (scene.situation.lacking()?, scene.place(stack));
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("{bytes} was taken in advance at {place}, and PyTorch beside it finds too little"),
        format!("It is one block, taken directly from the driver. {}", sentence(scene)),
    );
    finding.gives_back = Some(lacking);
    finding.evidence.push(Evidence::bytes("taken in advance", bytes, Basis::Recorded));
    finding.remedies = vec![
        Remedy::advice(format!(
            "a smaller share for the pool that is made at {place}: {lacking} less of its {bytes} serves this \
             request"
        )),
        Remedy::advice(
            "or let both take their memory from one pool, or start it small and let it grow",
        ),
    ];
    Some(finding)
}

fn smaller_share(share: f64) -> Remedy {
    Remedy::line(
        format!("export XLA_PYTHON_CLIENT_MEM_FRACTION={:.2}", (share * 100.0).floor() / 100.0),
        "leave room for libraries; set it before Python starts",
    )
}

/// Whether JAX was told to take nothing in advance.
fn preallocates_not(scene: &Scene<'_>) -> bool {
    let preallocate = scene.setting("XLA_PYTHON_CLIENT_PREALLOCATE");
    preallocate.is_some_and(|value| value.eq_ignore_ascii_case("false") || value == "0")
}

/// A server wanted more than was free. Where far too little is free, others hold it: not this cause.
fn share_not_free(scene: &Scene<'_>) -> Option<Finding> {
    let (free, total) = (scene.situation.free?, scene.situation.capacity?);
    let wanted = scene.incident?.counter(Counter::Preallocation)?;
    if free.0 < wanted.0 / 2 {
        return None;
    }
    let fraction = (free.share_of(total) * 100.0).floor() / 100.0;
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("vLLM wants {wanted} in advance, and {free} is free"),
        format!("Its share is of the device's total of {total}, not of what is free."),
    );
    finding.gives_back = Some(wanted.minus(free));
    finding.evidence.push(Evidence::bytes("wanted in advance", wanted, Basis::Message));
    finding.remedies = vec![Remedy::line(
        format!("--gpu-memory-utilization {fraction:.2}"),
        format!("the largest share that is free now: {free} of {total}"),
    )];
    Some(finding)
}

/// A program that takes a share of the device when it starts did not find it free.
fn taken_at_start(scene: &Scene<'_>) -> Option<Finding> {
    let software = scene.software().filter(|software| *software != Software::Vllm)?;
    let situation = &scene.situation;
    let headline = match (situation.requested, situation.free) {
        (Some(wanted), Some(free)) => {
            format!("{} takes {wanted} in advance, and {free} is free", software.name())
        }
        _ => {
            format!("{} takes a share of the GPU in advance, and it was not free", software.name())
        }
    };
    let because = "It asks for that when it starts, whatever it will need.";
    let mut finding = scene.finding(CAUSE.id, Strength::Explains, headline, because);
    finding.gives_back = situation.lacking();
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    finding.remedies =
        vec![Remedy::line("whyoom who", "shows who else holds the GPU's memory now")];
    Some(finding)
}

/// vLLM's share is so large that what works beside it finds no room.
fn share_too_large(scene: &Scene<'_>) -> Finding {
    let server = scene.software().map_or("The server", Software::name);
    let is_vllm = server == Software::Vllm.name();
    let beside = if is_vllm { "warming up its sampler" } else { "what works beside it" };
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("{server}'s share of the GPU leaves too little for {beside}"),
        "That works outside the share that was taken in advance.",
    );
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    if !is_vllm {
        return finding;
    }
    finding.remedies = vec![
        Remedy::line("--max-num-seqs 128", "fewer sequences at once need a smaller sampler"),
        Remedy::line("--gpu-memory-utilization 0.85", "a smaller share leaves it more room"),
    ];
    finding
}

/// A library's allocation failed in a program whose framework takes its share in advance.
fn library_beside_xla(scene: &Scene<'_>) -> Option<Finding> {
    let fraction = scene.setting("XLA_PYTHON_CLIENT_MEM_FRACTION");
    let xla_spoke = scene.model.incidents().iter().any(|incident| {
        incident.process == scene.process
            && incident.symptom.is_some_and(|(_, software, _)| software == Software::Xla)
    });
    let took = scene.setting("xla_share").is_some();
    if preallocates_not(scene) || !(fraction.is_some() || xla_spoke || took) {
        return None;
    }
    let library = scene.software().map_or("A library", Software::name);
    let mut finding = scene.finding(
        CAUSE.id,
        Strength::Explains,
        format!("JAX holds its share of the GPU in advance, and {library} finds nothing left"),
        match fraction {
            Some(fraction) => format!("XLA_PYTHON_CLIENT_MEM_FRACTION is {fraction}."),
            None => "JAX takes 75 % of the GPU when it starts unless told otherwise.".to_owned(),
        },
    );

    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    let now: f64 = fraction.and_then(|fraction| fraction.parse().ok()).unwrap_or(0.75);
    finding.remedies = vec![smaller_share(now * 0.8)];
    Some(finding)
}

/// vLLM plans with a share of the device; weights and activations leave too little of it.
fn share_too_small(scene: &Scene<'_>) -> Option<Finding> {
    if cache_beyond_share(scene).is_some() {
        return None;
    }
    let counter = |counter| scene.incident.and_then(|incident| incident.counter(counter));
    let (needed, left) = (counter(Counter::Needed), counter(Counter::RoomLeft));
    let because = match (needed, left) {
        (Some(needed), Some(left)) => format!("The cache needs {needed}; the share leaves {left}."),
        _ => "Weights and activations use up the share before the cache gets any.".to_owned(),
    };
    let server = scene.software().map_or("The server", Software::name);
    let headline = format!("{server}'s share of the GPU leaves too little for its cache");
    let mut finding = scene.finding(CAUSE.id, Strength::Decisive, headline, because);
    finding.gives_back = needed.zip(left).map(|(needed, left)| needed.minus(left));
    for (label, bytes) in [("cache needs", needed), ("share leaves", left)] {
        finding.evidence.extend(bytes.map(|b| Evidence::bytes(label, b, Basis::Message)));
    }
    finding.evidence.push(Evidence::text("message", scene.message(), Basis::Message));
    if scene.software() != Some(Software::Vllm) {
        return Some(finding);
    }
    let share = scene.setting("gpu_memory_utilization").and_then(|share| share.parse().ok());
    if share.is_none_or(|share: f64| share < 0.95) {
        let what = "a larger share, if nothing else uses the GPU";
        finding.remedies.push(Remedy::line("--gpu-memory-utilization 0.95", what));
    }
    finding.remedies.push(shorter(scene));
    Some(finding)
}
