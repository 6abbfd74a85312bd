//! What sources tell of a process beside its environment: each fact has one name, and travels as a setting.
//!
//! A program's own variables never begin with [`OWN`], so that no fact is mistaken for one of them.

/// How every fact's name begins.
pub const OWN: &str = "whyoom_";

/// Whether whyoom's pool serves the process: `on`.
pub const POOL: &str = "whyoom_pool";
/// The run's command, with zeros between its words.
pub const COMMAND: &str = "whyoom_command";
/// The signal that ended a process.
pub const SIGNAL: &str = "whyoom_signal";
/// The status that the command failed with.
pub const STATUS: &str = "whyoom_status";
/// The model of the GPU, and the bytes that such a one has.
pub const GPU: &str = "whyoom_gpu";
/// With a process's number behind it: how many seconds it had run.
pub const AGE: &str = "whyoom_age_";
/// With a device's number behind it: the least that the process was seen to use of it.
pub const USED: &str = "whyoom_used_";
/// Whose log it is, where another allocator than PyTorch's wrote it.
pub const ALLOCATOR: &str = "whyoom_allocator";
/// Whose report it is, where a profiler wrote it.
pub const PROFILER: &str = "whyoom_profiler";
/// That nvidia-smi, pasted with a message, listed nobody.
pub const LISTED: &str = "whyoom_listed";
/// Whose words stand around a message.
pub const AROUND: &str = "whyoom_framework";
/// That the program went on after the failure.
pub const RECOVERED: &str = "whyoom_recovered";
/// The text says that memory grows.
pub const SAID_GROWS: &str = "whyoom_said_grows";
/// The text says that with less to do it works.
pub const SAID_LESS_WORKS: &str = "whyoom_said_less_works";
/// The text says that each of many processes takes its share.
pub const SAID_EACH_PROCESS: &str = "whyoom_said_each_process";
/// Tables in the text show GPUs that are all but empty.
pub const SAID_IDLE: &str = "whyoom_said_idle";
