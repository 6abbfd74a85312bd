//! The policies by name, each with the line that switches it on where one exists.

use crate::{
    policies::{
        bfc::{self, Bfc},
        binned::{self, Binned},
        pytorch::{PyTorch, PyTorchSettings},
        rmm_pool::{self, RmmPool},
        stitch::Stitch,
        stream_ordered::{self, StreamOrdered},
    },
    policy::Policy,
};

/// What a policy is made for.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The settings that the recorded run had: what a policy does not change stays as it was.
    pub recorded: PyTorchSettings,
}

/// A policy that a run can be replayed through.
pub struct Entry {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it is.
    pub about: &'static str,
    /// The line that switches it on in a PyTorch program; empty where there is none.
    pub switch: &'static str,
    make: fn(&Conditions) -> Box<dyn Policy>,
}

impl Entry {
    /// A new allocator of this kind.
    #[must_use]
    pub fn make(&self, conditions: &Conditions) -> Box<dyn Policy> {
        (self.make)(conditions)
    }
}

/// Every policy. The recorded one comes first: the others are compared with it.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        id: "as-recorded",
        about: "PyTorch with the settings of the recording",
        switch: "",
        make: |conditions| Box::new(PyTorch::new(conditions.recorded.clone())),
    },
    Entry {
        id: "native",
        about: "PyTorch's default",
        switch: "unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF",
        make: |conditions| pytorch(conditions, |_| {}),
    },
    Entry {
        id: "expandable",
        about: "PyTorch with expandable segments",
        switch: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        make: |conditions| pytorch(conditions, |settings| settings.expandable_segments = true),
    },
    Entry {
        id: "max-split",
        about: "PyTorch that splits no block of 128 MiB or more",
        switch: "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128",
        make: |conditions| {
            pytorch(conditions, |settings| settings.max_split_size = Some(128 << 20))
        },
    },
    Entry {
        id: "roundup",
        about: "PyTorch that rounds to eighths of powers of two",
        switch: "export PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:8",
        make: |conditions| pytorch(conditions, |settings| settings.roundup_divisions = [8; 16]),
    },
    Entry {
        id: "cuda-async",
        about: "CUDA's stream-ordered pool",
        switch: "export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync",
        make: |_| Box::new(StreamOrdered::new(stream_ordered::Settings::default())),
    },
    Entry {
        id: "rmm",
        about: "RMM's pool",
        switch: "import rmm.allocators.torch; rmm.reinitialize(pool_allocator=True); torch.cuda.memory.change_current_allocator(rmm.allocators.torch.rmm_torch_allocator)",
        make: |_| Box::new(RmmPool::new(rmm_pool::Settings::default())),
    },
    Entry {
        id: "bfc",
        about: "XLA's allocator, for comparison",
        switch: "",
        make: |_| Box::new(Bfc::new(bfc::Settings::default())),
    },
    Entry {
        id: "binned",
        about: "an O(1) binned allocator, for comparison",
        switch: "",
        make: |_| Box::new(Binned::new(binned::Settings::default())),
    },
    Entry {
        id: "stitch",
        about: "whyoom's own pool",
        switch: "whyoom run --pool -- python train.py",
        make: |conditions| Box::new(Stitch::new(conditions.recorded.device_total)),
    },
];

/// Settings of PyTorch that are worth a try beside the policies above, as in PYTORCH_CUDA_ALLOC_CONF.
pub const SETTINGS: &[&str] = &[
    "max_split_size_mb:32",
    "max_split_size_mb:64",
    "max_split_size_mb:256",
    "max_split_size_mb:512",
    "max_split_size_mb:1024",
    "roundup_power2_divisions:2",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:16",
    "large_segment_size_mb:12",
    "large_segment_size_mb:64",
    "large_segment_size_mb:128",
    "max_split_size_mb:128,max_non_split_rounding_mb:128",
    "expandable_segments:True,roundup_power2_divisions:8",
];

/// PyTorch with one setting changed from its default.
fn pytorch(conditions: &Conditions, change: impl Fn(&mut PyTorchSettings)) -> Box<dyn Policy> {
    let mut settings = conditions.recorded.defaults_for_run();
    change(&mut settings);
    Box::new(PyTorch::new(settings))
}

/// The policy of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.id == id)
}
