//! Why there is no driver to call, in words that say what to do.

use thiserror::Error;

/// Why the driver cannot be called.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriverError {
    /// The driver's library is not here.
    #[error(
        "no NVIDIA driver was found: libcuda.so.1 cannot be loaded ({0}). Install the driver; in a \
         container, start it with the GPUs (docker run --gpus all, or the NVIDIA runtime)"
    )]
    NoLibrary(String),
    /// The library is here and has no such function.
    #[error(
        "the NVIDIA driver has no function {0}: it is older than CUDA 11.2. Update the driver (460 or \
         newer); if libcuda.so.1 is a stub, take its folder off the library path"
    )]
    NoFunction(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_says_what_to_do() {
        let missing = DriverError::NoLibrary("no such file".to_owned()).to_string();
        assert!(missing.contains("no such file") && missing.contains("--gpus all"), "{missing}");
        let old = DriverError::NoFunction("cuMemMap").to_string();
        assert!(old.contains("cuMemMap") && old.contains("Update the driver"), "{old}");
    }
}
