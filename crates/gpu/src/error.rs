//! What can go wrong with the driver, in words that say what to do.

use nvml_wrapper::error::NvmlError;
use thiserror::Error;

/// Why a device cannot be asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The driver's library is not here.
    #[error(
        "no NVIDIA driver was found: libnvidia-ml.so.1 cannot be loaded ({0}). Install the driver; \
         in a container, start it with the GPUs (docker run --gpus all, or the NVIDIA runtime)"
    )]
    NoLibrary(String),
    /// The library is here and the kernel's part is not.
    #[error(
        "the NVIDIA driver is installed but not loaded. Load it (sudo modprobe nvidia); after an \
         update of the kernel the module may have to be built again"
    )]
    DriverNotLoaded,
    /// The library and the kernel's part are of different versions.
    #[error(
        "the NVIDIA driver was updated while it was loaded: the library and the kernel module differ \
         in version. Restart the machine, or unload the module (sudo rmmod nvidia) once nothing uses it"
    )]
    VersionMismatch,
    /// This user may not.
    #[error(
        "this user may not talk to the NVIDIA driver. Look at the permissions of /dev/nvidia* and \
         /dev/nvidiactl; in a container the devices must be passed in"
    )]
    NoPermission,
    /// A device has gone.
    #[error(
        "GPU {index} has fallen off the bus or needs a reset. Look for Xid lines in the kernel log \
         (sudo dmesg | grep Xid); reset it (sudo nvidia-smi --gpu-reset -i {index}) or restart"
    )]
    Lost {
        /// Its number.
        index: u32,
    },
    /// Anything else.
    #[error(
        "the NVIDIA driver did not say {what}: {why}. If it persists, nvidia-smi shows the same"
    )]
    Refused {
        /// What was asked.
        what: &'static str,
        /// Its answer.
        why: String,
    },
}

impl GpuError {
    /// The error behind a failure to open the library.
    pub(crate) fn opening(error: NvmlError) -> Self {
        match error {
            NvmlError::LibloadingError(why) => Self::NoLibrary(with_cause(&why)),
            NvmlError::LibraryNotFound => Self::NoLibrary("a part of it is missing".to_owned()),
            other => Self::asking("that it is ready", other),
        }
    }

    /// The error behind a question that is not about one device.
    pub(crate) fn asking(what: &'static str, error: NvmlError) -> Self {
        match error {
            NvmlError::DriverNotLoaded => Self::DriverNotLoaded,
            NvmlError::LibRmVersionMismatch => Self::VersionMismatch,
            NvmlError::NoPermission | NvmlError::OperatingSystem => Self::NoPermission,
            other => Self::Refused { what, why: other.to_string() },
        }
    }

    /// The error behind a question about one device.
    pub(crate) fn about(index: u32, what: &'static str, error: NvmlError) -> Self {
        match error {
            NvmlError::GpuLost | NvmlError::ResetRequired => Self::Lost { index },
            other => Self::asking(what, other),
        }
    }
}

/// The loader's own words stand in the source of its error.
fn with_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_says_what_to_do() {
        for (error, advice) in [
            (NvmlError::DriverNotLoaded, "modprobe"),
            (NvmlError::LibRmVersionMismatch, "Restart"),
            (NvmlError::NoPermission, "/dev/nvidia"),
            (NvmlError::LibraryNotFound, "--gpus all"),
            (NvmlError::Unknown, "nvidia-smi"),
        ] {
            let text = GpuError::opening(error).to_string();
            assert!(text.contains(advice), "{text}");
        }
        let lost = GpuError::about(3, "its memory", NvmlError::GpuLost).to_string();
        assert!(lost.contains("-i 3"), "{lost}");
    }
}
