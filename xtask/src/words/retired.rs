//! What is no longer written, and what is written instead.

/// A name or a phrase that was replaced.
pub(super) struct Retired {
    pub(super) old: &'static str,
    pub(super) instead: &'static str,
    /// The folder that this holds for: elsewhere the word may mean something else.
    pub(super) below: &'static str,
}

const fn everywhere(old: &'static str, instead: &'static str) -> Retired {
    Retired { old, instead, below: "" }
}

const fn below(below: &'static str, old: &'static str, instead: &'static str) -> Retired {
    Retired { old, instead, below }
}

/// Identifiers.
pub(super) const NAMES: &[Retired] = &[
    everywhere("Film", "History"),
    everywhere("filmed", "with_history"),
    everywhere("FilmedMap", "AddressMapAt"),
    everywhere("Gallery", "RetainedBlocks"),
    everywhere("PictureLimits", "TimelineLimits"),
    everywhere("Standing", "ProcessState"),
    everywhere("Keeper", "Referrer"),
    everywhere("name_keepers", "name_referrers"),
    everywhere("gives_back", "reclaimable"),
    everywhere("lacking", "shortfall"),
    everywhere("Neighbours", "OtherGpuProcesses"),
    everywhere("Habit", "LeakSite, ReleasePolicy"),
    below("crates/causes/", "Situation", "ObservedFigures, MemoryBreakdown"),
    everywhere("Occasion", "PendingSamples"),
    everywhere("Disguised", "IndirectOom"),
    everywhere("Disturbed", "FreeMemoryChanged"),
    everywhere("LeastUsed", "MinUsage"),
    everywhere("is_anybodys", "is_generic"),
    everywhere("Looker", "NodeSampler"),
    everywhere("Told", "LiveStatus, TestTrace"),
    everywhere("Allowance", "ParseLimits"),
    everywhere("tell_of_command", "emit_command"),
    everywhere("sums_by_place", "sums_by_call_site"),
    everywhere("LivePlace", "LiveCallSite"),
    everywhere("say_nonsense", "warn_invalid"),
    below("crates/causes/", "Scene", "Diagnosis"),
    below("crates/causes/", "scene", "diagnosis"),
    below("crates/causes/", "place", "call_site"),
    below("crates/node/", "Scene", "CheckContext"),
    below("crates/node/", "Observer", "Viewer"),
    below("crates/memory/", "film", "history"),
    below("crates/memory/", "place", "call_site"),
    below("crates/memory/", "Course", "RunContext, EventCounter"),
    below("crates/memory/", "Hold", "Retention"),
    below("crates/memory/", "Work", "EventCounts"),
    below("crates/recorder/", "Port", "PoolCallbacks"),
    below("crates/recorder/", "road", "resolution"),
    below("crates/recorder/", "Place", "Location"),
    below("crates/sources/", "Look", "MachineSample"),
    below("crates/tui/", "Look", "Theme"),
];

/// Words and phrases that people read, in any case.
pub(super) const PHRASES: &[Retired] = &[
    everywhere("want of memory", "out of memory"),
    everywhere("want of host memory", "out of host memory"),
    everywhere("in use in its allocator", "allocated"),
    everywhere("held by its allocator", "reserved"),
    everywhere("free in its allocator", "reserved but unallocated"),
    everywhere("plays the GPU", "a simulated GPU is included"),
    everywhere("put whyoom before", "prefix it with"),
    everywhere("wherever they are at hand", "tested against …"),
    everywhere("remedy carried out", "apply the fix"),
    everywhere("asked for in vain", "long-requested features"),
    everywhere("before the rental", "before you rent a GPU"),
    everywhere("nobody to be seen", "no visible process"),
    everywhere("on every road", "on every path"),
    everywhere("is told from what looks like it", "how leaks are detected"),
    everywhere("often told wrong", "common misconception"),
    everywhere("is told by its first bytes", "is detected automatically"),
    everywhere("beside other tools", "comparison with other tools"),
    everywhere("have something go wrong", "inject a fault"),
    everywhere("nothing is computed: memory", "only memory is simulated; kernels do nothing"),
    everywhere("run it so once more", "rerun it like this"),
    everywhere("must go for this request alone", "free at least … (more may be needed)"),
    everywhere("people who had not read the rules", "written before the rules were read"),
    everywhere("as the text says", "according to the log"),
    everywhere("as the message says", "according to the message"),
    everywhere("some hundred", "a few hundred"),
    everywhere("in about so much space", "using about SIZE of disk"),
    everywhere("no cause and no counter is called so", "unknown cause or counter"),
    everywhere("between two looks", "refresh interval"),
    everywhere("out-of-memories", "every OOM"),
    everywhere("a trouble of our own", "an internal error"),
    everywhere("what is missing to 1", "1 − …"),
    everywhere("in other words or in disguise", "an indirect OOM"),
    everywhere("taken in advance", "preallocated"),
    below("docs/", "looks.jsonl", "machine.jsonl"),
    everywhere("bytes an event", "bytes per event"),
    everywhere("one file a cause", "one file per cause"),
    everywhere("one file a check", "one file per check"),
    everywhere("the program runs unrecorded", "the program runs without recording"),
    everywhere("it is no program by itself", "it is not executable"),
    everywhere("nobody can be asked here", "there is no terminal to ask on"),
];
