//! What a process writes of itself into its part.

use whyoom_files::kernel;
use whyoom_redact::mask_arguments;

use crate::{
    clock,
    format::PART_IDENTITY,
    identity::{COMMAND, PartIdentity, boot_number, parent_and_start},
};

impl PartIdentity {
    /// This process. What /proc does not tell is 0.
    pub(crate) fn of_this_process(segment_bytes: u32, limit: Option<u64>) -> Self {
        let stat = kernel::text("/proc/self/stat").unwrap_or_default();
        let (parent, started) = parent_and_start(&stat);
        // Secrets go before anything is cut off: half of one is one, too.
        let mut command = mask_arguments(&kernel::bytes("/proc/self/cmdline").unwrap_or_default());
        command.truncate(PART_IDENTITY - COMMAND);
        let boot = kernel::text("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            pid: std::process::id(),
            parent,
            started,
            created: clock::now().0,
            unix_offset: clock::unix_offset(),
            boot: boot_number(&boot),
            segment_bytes,
            limit: limit.unwrap_or(0),
            command,
        }
    }
}
