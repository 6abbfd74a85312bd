//! A framework or server takes a share of the device in advance.

use whyoom_trace::{Bytes, Counter, Software, Symptom};

use crate::{
    cause::Cause,
    diagnosis::Diagnosis,
    finding::{Basis, Evidence, Finding, Remedy, Strength},
    memory_fraction::{cache_beyond_share, shorter},
    outside::block_in_advance,
    shell_line::ShellLine,
};

pub(super) const CAUSE: Cause = Cause {
    id: "preallocated",
    title: "a framework or server preallocates a fixed fraction of the device",
    explanation: "\
Some programs allocate most of the device at startup, whether they need it or not: JAX three
quarters of the free memory, TensorFlow nearly all, vLLM a fraction of the *total* (not of the free
memory) set by --gpu-memory-utilization. A second process, or a library inside the same process that
allocates directly (NCCL, cuBLAS), then finds nothing.

Symptoms: \"Free memory on device (19.77/22.05 GiB) on startup is less than desired GPU memory
utilization\"; an NCCL or cuBLAS allocation that fails inside a JAX program.

What helps: a smaller fraction, set before the framework is imported. The variables are read once.",
    check,
};

fn check(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    match diagnosis.symptom() {
        Some(Symptom::PreallocationFailed) => {
            share_not_free(diagnosis).or_else(|| taken_at_start(diagnosis))
        }
        Some(Symptom::ShareTooLarge) => Some(share_too_large(diagnosis)),
        Some(Symptom::ShareTooSmall) => share_too_small(diagnosis),
        Some(Symptom::LibraryAllocFailed) => {
            library_beside_tensorflow(diagnosis).or_else(|| library_beside_xla(diagnosis))
        }
        Some(Symptom::IndirectOom) => library_beside_tensorflow(diagnosis),
        Some(Symptom::DeviceOutOfMemory) => {
            beside_tensorflow(diagnosis).or_else(|| beside_server(diagnosis))
        }
        Some(_) => None,
        None => beside_arena(diagnosis).or_else(|| beside_block(diagnosis)),
    }
}

/// What TensorFlow told that it takes when it starts, unless it was told to grow.
fn tensorflow_share(diagnosis: &Diagnosis<'_>) -> Option<Bytes> {
    let share: u64 = diagnosis.setting("tensorflow_share_mb")?.parse().ok()?;
    let grows = diagnosis.setting("TF_FORCE_GPU_ALLOW_GROWTH") == Some("true");
    share.checked_mul(1 << 20).map(Bytes).filter(|_| !grows)
}

/// Whoever allocates beside TensorFlow finds the rest.
fn beside_tensorflow(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let share = tensorflow_share(diagnosis)?;
    if diagnosis.software() == Some(Software::TensorFlow) || !diagnosis.device_ran_out() {
        return None;
    }
    let (unexplained, shortfall) =
        (diagnosis.observed.unexplained()?, diagnosis.observed.shortfall()?);
    // Its share must be what is missing: it is in use, and nothing else that was told of has it.
    if share < shortfall || unexplained.0 < share.0 / 2 {
        return None;
    }
    let because = format!("{} TensorFlow's log shows what it preallocated.", sentence(diagnosis));
    let mut finding = of_tensorflow(diagnosis, share, "other allocators", because);
    finding.reclaimable = Some(shortfall);
    Some(finding)
}

/// A library that TensorFlow uses allocates by itself.
fn library_beside_tensorflow(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let share = tensorflow_share(diagnosis)?;
    let library = diagnosis.software().map_or("a library", Software::name);
    let because =
        "Its log shows what it preallocated; such libraries allocate outside that.".to_owned();
    let mut finding = of_tensorflow(diagnosis, share, library, because);
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    Some(finding)
}

fn of_tensorflow(
    diagnosis: &Diagnosis<'_>,
    share: Bytes,
    beside: &str,
    because: String,
) -> Finding {
    let headline = format!("TensorFlow preallocated {share}, leaving nothing for {beside}");
    let mut finding = diagnosis.finding(CAUSE.id, Strength::Explains, headline, because);
    finding.evidence.push(Evidence::bytes("preallocated by TensorFlow", share, Basis::Message));
    finding.remedies = vec![
        Remedy::line(
            "export TF_FORCE_GPU_ALLOW_GROWTH=true",
            "before Python starts: it then allocates only what it uses",
        ),
        Remedy::line(
            "tf.config.experimental.set_memory_growth(tf.config.list_physical_devices(\"GPU\")[0], True)",
            "the same, right after its import",
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
fn beside_server(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let told = |name: &str| diagnosis.setting(name)?.parse::<f64>().ok();
    let (share, option, server) = SERVERS
        .iter()
        .find_map(|(name, option, server)| Some((told(name)?, *option, *server)))
        .filter(|(share, ..)| *share >= LARGE_SHARE)?;
    let observed = &diagnosis.observed;
    // Where figures are told, the share must have been taken.
    let taken = observed.allocated.zip(observed.capacity);
    let taken = taken.is_none_or(|(held, all)| held.share_of(all) >= share - 0.1);
    if diagnosis.software() != Some(Software::PyTorch) || !diagnosis.device_refused() || !taken {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        format!(
            "{server} preallocated {:.0} % of the GPU, leaving nothing for other allocators",
            share * 100.0
        ),
        format!("{option} is {share}. {}", sentence(diagnosis)).trim_end().to_owned(),
    );
    finding.reclaimable = observed.shortfall();
    finding.evidence.push(Evidence::share("preallocated", share, Basis::Message));
    finding.remedies = vec![Remedy::command(
        ShellLine::new(option).word(format!("{:.2}", share - SMALLER_BY)),
        "a smaller fraction leaves memory for graphs, workspaces and the sampler",
    )];
    Some(finding)
}

/// What was missing, as a sentence.
fn sentence(diagnosis: &Diagnosis<'_>) -> String {
    diagnosis.observed.missing().map_or(String::new(), |missing| format!("{missing}."))
}

/// The smallest and the largest that an arena can be of what its share says, of the whole device: a context and
/// others may have had some of that.
const SMALLEST_ARENA: f64 = 0.6;
const LARGEST_ARENA: f64 = 1.01;

/// A recorded run: one block is the share that JAX takes when it starts, and somebody else asked beside it.
fn beside_arena(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let share: f64 = diagnosis.setting("XLA_PYTHON_CLIENT_MEM_FRACTION")?.parse().ok()?;
    let observed = &diagnosis.observed;
    if preallocates_not(diagnosis) || !diagnosis.device_ran_out() || !observed.by_driver {
        return None;
    }
    let (capacity, shortfall) = (observed.capacity?, observed.shortfall()?);
    let blocks = diagnosis.space?.driver()?.layer().blocks().map(|(_, block)| block);
    let arena = blocks.max_by_key(|block| block.size)?;
    let of_share = arena.size.share_of(capacity) / share;
    let beside = diagnosis.call_site(diagnosis.incident?.stack) != diagnosis.call_site(arena.stack);
    if !beside || !(SMALLEST_ARENA..=LARGEST_ARENA).contains(&of_share) || arena.size < shortfall {
        return None;
    }
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("{} was preallocated, leaving too little for other allocators", arena.size),
        format!("XLA_PYTHON_CLIENT_MEM_FRACTION is {share}. {}", sentence(diagnosis)),
    );
    finding.reclaimable = Some(shortfall);
    finding.evidence.push(Evidence::bytes("preallocated", arena.size, Basis::Recorded));
    // A tenth more than is missing: the next request of the same kind is not far.
    let needed = share * (1.0 - shortfall.share_of(arena.size) * 1.1);
    finding.remedies = vec![smaller_share(needed.min(share * 0.8))];
    Some(finding)
}

/// PyTorch lacks what another part of the program took in advance.
fn beside_block(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let (stack, bytes) = block_in_advance(diagnosis)?;
    let (shortfall, call_site) = (diagnosis.observed.shortfall()?, diagnosis.call_site(stack));
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("{bytes} was preallocated, leaving too little for PyTorch"),
        format!("It is one block, allocated directly from the driver. {}", sentence(diagnosis)),
    );
    finding.reclaimable = Some(shortfall);
    finding.point_at(call_site.as_str(), format!("{bytes} in one block"));
    finding.remedies = vec![
        Remedy::advice(format!(
            "use a smaller pool at {call_site}: {shortfall} less than its {bytes} is enough for this \
             request"
        )),
        Remedy::advice("or let both use one pool, or start the pool small and let it grow"),
    ];
    Some(finding)
}

fn smaller_share(share: f64) -> Remedy {
    let share = (share * 100.0).floor() / 100.0;
    Remedy::command(
        ShellLine::new("export").word(format!("XLA_PYTHON_CLIENT_MEM_FRACTION={share:.2}")),
        "leaves memory for libraries; set it before Python starts",
    )
}

/// Whether JAX was told to take nothing in advance.
fn preallocates_not(diagnosis: &Diagnosis<'_>) -> bool {
    let preallocate = diagnosis.setting("XLA_PYTHON_CLIENT_PREALLOCATE");
    preallocate.is_some_and(|value| value.eq_ignore_ascii_case("false") || value == "0")
}

/// A server wanted more than was free. Where far too little is free, others hold it: not this cause.
fn share_not_free(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let (free, total) = (diagnosis.observed.free?, diagnosis.observed.capacity?);
    let wanted = diagnosis.incident?.counter(Counter::Preallocation)?;
    if free.0 < wanted.0 / 2 {
        return None;
    }
    let fraction = (free.share_of(total) * 100.0).floor() / 100.0;
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("vLLM tries to preallocate {wanted}, but {free} is free"),
        format!("Its fraction applies to the device's total of {total}, not to the free memory."),
    );
    finding.reclaimable = Some(wanted.minus(free));
    finding.evidence.push(Evidence::bytes("preallocation", wanted, Basis::Message));
    finding.remedies = vec![Remedy::command(
        ShellLine::new("--gpu-memory-utilization").word(format!("{fraction:.2}")),
        format!("the largest fraction that is free now: {free} of {total}"),
    )];
    Some(finding)
}

/// A program that takes a share of the device when it starts did not find it free.
fn taken_at_start(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let software = diagnosis.software().filter(|software| *software != Software::Vllm)?;
    let observed = &diagnosis.observed;
    let headline = match (observed.requested, observed.free) {
        (Some(wanted), Some(free)) => {
            format!("{} tries to preallocate {wanted}, but {free} is free", software.name())
        }
        _ => {
            format!("{} preallocates a fraction of the GPU, which was not free", software.name())
        }
    };
    let because = "It allocates that at startup, whatever it will need.";
    let mut finding = diagnosis.finding(CAUSE.id, Strength::Explains, headline, because);
    finding.reclaimable = observed.shortfall();
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    finding.remedies =
        vec![Remedy::line("whyoom who", "shows which other processes hold GPU memory now")];
    Some(finding)
}

/// vLLM's share is so large that what works beside it finds no room.
fn share_too_large(diagnosis: &Diagnosis<'_>) -> Finding {
    let server = diagnosis.software().map_or("The server", Software::name);
    let is_vllm = server == Software::Vllm.name();
    let beside = if is_vllm { "warming up its sampler" } else { "other allocators" };
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Decisive,
        format!("{server}'s memory fraction leaves too little for {beside}"),
        "That allocates outside the preallocated fraction.",
    );
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    if !is_vllm {
        return finding;
    }
    finding.remedies = vec![
        Remedy::line("--max-num-seqs 128", "fewer sequences at once need a smaller sampler"),
        Remedy::line(
            "--gpu-memory-utilization 0.85",
            "a smaller fraction leaves more memory for it",
        ),
    ];
    finding
}

/// A library's allocation failed in a program whose framework takes its share in advance.
fn library_beside_xla(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    let fraction = diagnosis.setting("XLA_PYTHON_CLIENT_MEM_FRACTION");
    let xla_spoke = diagnosis.model.incidents().iter().any(|incident| {
        incident.process == diagnosis.process
            && incident.symptom.is_some_and(|(_, software, _)| software == Software::Xla)
    });
    let took = diagnosis.setting("xla_share").is_some();
    if preallocates_not(diagnosis) || !(fraction.is_some() || xla_spoke || took) {
        return None;
    }
    let library = diagnosis.software().map_or("A library", Software::name);
    let mut finding = diagnosis.finding(
        CAUSE.id,
        Strength::Explains,
        format!("JAX preallocates its fraction of the GPU, leaving nothing for {library}"),
        match fraction {
            Some(fraction) => format!("XLA_PYTHON_CLIENT_MEM_FRACTION is {fraction}."),
            None => "JAX preallocates 75 % of the GPU by default.".to_owned(),
        },
    );

    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    let now: f64 = fraction.and_then(|fraction| fraction.parse().ok()).unwrap_or(0.75);
    finding.remedies = vec![smaller_share(now * 0.8)];
    Some(finding)
}

/// vLLM plans with a share of the device; weights and activations leave too little of it.
fn share_too_small(diagnosis: &Diagnosis<'_>) -> Option<Finding> {
    if cache_beyond_share(diagnosis).is_some() {
        return None;
    }
    let counter = |counter| diagnosis.incident.and_then(|incident| incident.counter(counter));
    let (needed, left) = (counter(Counter::Needed), counter(Counter::RoomLeft));
    let because = match (needed, left) {
        (Some(needed), Some(left)) => {
            format!("The cache needs {needed}; the fraction leaves {left}.")
        }
        _ => "Weights and activations use up the fraction before the cache gets any.".to_owned(),
    };
    let server = diagnosis.software().map_or("The server", Software::name);
    let headline = format!("{server}'s memory fraction leaves too little for its cache");
    let mut finding = diagnosis.finding(CAUSE.id, Strength::Decisive, headline, because);
    finding.reclaimable = needed.zip(left).map(|(needed, left)| needed.minus(left));
    for (label, bytes) in [("cache needs", needed), ("fraction leaves", left)] {
        finding.evidence.extend(bytes.map(|b| Evidence::bytes(label, b, Basis::Message)));
    }
    finding.evidence.push(Evidence::text("message", diagnosis.message(), Basis::Message));
    if diagnosis.software() != Some(Software::Vllm) {
        return Some(finding);
    }
    let share = diagnosis.setting("gpu_memory_utilization").and_then(|share| share.parse().ok());
    if share.is_none_or(|share: f64| share < 0.95) {
        let what = "a larger fraction, if nothing else uses the GPU";
        finding.remedies.push(Remedy::line("--gpu-memory-utilization 0.95", what));
    }
    finding.remedies.push(shorter(diagnosis));
    Some(finding)
}
