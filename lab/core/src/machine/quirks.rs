//! Where real systems differ from one another, and programs that met one kind alone go wrong.

/// How this system differs from a plain one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// NVML lists the processes of a device with 0 bytes each, as in some containers.
    pub nvml_without_use: bool,
    /// NVML knows nothing of a device's memory, as where host and device share it.
    pub nvml_without_memory: bool,
    /// How long each question to NVML about a device takes at least.
    pub nvml_nanoseconds: u64,
    /// The device that has fallen off the bus: NVML answers for all but this one.
    pub lost_device: Option<usize>,
    /// Virtual memory management is not supported, as on some vGPUs.
    pub no_virtual_memory: bool,
    /// No device reaches another's memory.
    pub no_peers: bool,
    /// The first and the last mapping of virtual memory that fail, counted from 1 over the whole lab.
    pub fail_mappings: Option<(u64, u64)>,
    /// The unit of virtual memory, in place of the model's.
    pub granularity: Option<u64>,
    /// What page tables take for each GiB of a process's mapped virtual memory on a device, begun ones included.
    pub page_table_bytes: u64,
    /// Bytes that each node of an executable graph takes of the device that is current when the graph is instantiated.
    /// What real drivers take is not known.
    pub graph_node_bytes: u64,
    /// NVML lists all processes as clients of MPS too.
    pub mps: bool,
    /// Each device is divided (MIG): NVML tells of its memory and processes only by its one part, which has all.
    pub mig: bool,
}
