//! Why something could not be measured.

/// Why a device, or one figure of it, could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no libcuda.so.1.
    #[error(
        "no CUDA driver found; on a machine without a GPU try: \
         whyoom lab run -- whyoom lab calibrate"
    )]
    NoDriver,
    /// The driver is there and serves no device.
    #[error(
        "the CUDA driver finds no GPU; on a machine without one try: \
         whyoom lab run -- whyoom lab calibrate"
    )]
    NoGpu,
    /// The driver serves no such device.
    #[error("there is no GPU {asked}: the driver has {count}, counted from 0")]
    NoDevice {
        /// The number that was asked for.
        asked: u32,
        /// How many there are.
        count: u32,
    },
    /// NVML cannot be loaded.
    #[error("{0} cannot be loaded")]
    NoNvml(&'static str),
    /// A library is older than a function.
    #[error("the installed driver is too old: it has no {0}")]
    Missing(&'static str),
    /// A function answered with an error.
    #[error("{function} answers {status}")]
    Refused {
        /// The function.
        function: &'static str,
        /// The error's name.
        status: String,
    },
    /// The driver answers, and the answer says nothing.
    #[error("{0} is answered with 0")]
    Zero(&'static str),
    /// The device cannot do it.
    #[error("the device has no {0}")]
    Unsupported(&'static str),
    /// Less memory is free than a trial needs.
    #[error("fewer than {0} bytes are free")]
    TooLittle(u64),
    /// A pool did not keep what it was told to keep.
    #[error("a stream-ordered pool gave back what it was told to keep")]
    KeptNothing,
    /// Two measurements disagree.
    #[error("it changed while it was measured: does another process use the GPU?")]
    Unsteady,
    /// Small allocations did not show in free memory.
    #[error("free memory stayed the same over {0} allocations of 1 byte")]
    NeverFell(usize),
    /// Small allocations share nothing.
    #[error("every allocation of 1 byte takes memory of its own")]
    NothingShared,
    /// Large allocations share memory like small ones.
    #[error("allocations of {0} bytes still share memory")]
    AllShared(u64),
}

/// The outcome of measuring.
pub(crate) type Result<T> = std::result::Result<T, Error>;
