//! What is true of this place, and what to do here where the driver cannot be asked.

use std::path::Path;

use whyoom_gpu::GpuError;

/// What is true of this place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Surroundings {
    /// Linux inside Windows.
    pub(crate) wsl: bool,
    /// A container.
    pub(crate) container: bool,
    /// The kernel has the driver loaded.
    pub(crate) driver_loaded: bool,
    /// There are device files of NVIDIA's, and this user may not use them.
    pub(crate) devices_denied: bool,
}

impl Surroundings {
    pub(crate) fn look() -> Self {
        let exists = |path: &str| Path::new(path).exists();
        let kernel = whyoom_files::kernel::text("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            wsl: kernel.to_ascii_lowercase().contains("microsoft"),
            container: ["/.dockerenv", "/run/.containerenv"].into_iter().any(exists)
                || ["container", "KUBERNETES_SERVICE_HOST"]
                    .iter()
                    .any(|name| std::env::var_os(name).is_some()),
            driver_loaded: exists("/proc/driver/nvidia/version"),
            devices_denied: is_denied("/dev/nvidiactl"),
        }
    }
}

/// Whether it is there and cannot be opened for reading and writing.
#[allow(clippy::disallowed_methods, reason = "the kernel's own file")]
fn is_denied(path: &str) -> bool {
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(path);
    opened.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// What is to be done in this place about a driver that cannot be asked; nothing where the error says it all.
#[must_use]
pub fn advice(error: &GpuError) -> Option<&'static str> {
    advice_in(error, Surroundings::look())
}

fn advice_in(error: &GpuError, here: Surroundings) -> Option<&'static str> {
    match error {
        GpuError::NoLibrary(_) if here.wsl => Some(
            "This is WSL: install the driver in Windows, not here; it provides /usr/lib/wsl/lib. \
             After installing it: wsl --shutdown",
        ),
        GpuError::NoLibrary(_) if here.driver_loaded && here.container => Some(
            "This is a container on a machine whose driver is loaded: it was started without GPU \
             access",
        ),
        GpuError::NoLibrary(_) if here.driver_loaded => Some(
            "The kernel module is loaded: only the driver's library is missing here, or not in the \
             loader's path (LD_LIBRARY_PATH)",
        ),
        GpuError::VersionMismatch if here.container => {
            Some("This is a container: recreate it to use the machine's current driver library")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_suits_the_place() {
        let missing = GpuError::NoLibrary("not found".to_owned());
        let here = Surroundings::default();
        let said = |error, here| advice_in(error, here).unwrap_or_default();
        assert!(said(&missing, Surroundings { wsl: true, ..here }).contains("Windows"));
        assert!(said(&missing, Surroundings { driver_loaded: true, ..here }).contains("library"));
        let container = Surroundings { container: true, driver_loaded: true, ..here };
        assert!(said(&missing, container).contains("without GPU access"));
        assert!(said(&GpuError::VersionMismatch, container).contains("recreate it"));
        assert_eq!(advice_in(&GpuError::NoPermission, container), None);
    }
}
