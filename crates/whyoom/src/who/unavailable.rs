//! Why the driver cannot be asked here, and what to do about it here.

use std::path::Path;

use anyhow::anyhow;
use whyoom_gpu::GpuError;

/// What is true of this place.
#[derive(Clone, Copy, Debug, Default)]
struct Surroundings {
    /// Linux inside Windows.
    wsl: bool,
    /// A container.
    container: bool,
    /// The kernel has the driver loaded.
    driver_loaded: bool,
}

impl Surroundings {
    fn look() -> Self {
        let exists = |path: &str| Path::new(path).exists();
        let kernel = whyoom_files::kernel::text("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            wsl: kernel.to_ascii_lowercase().contains("microsoft"),
            container: ["/.dockerenv", "/run/.containerenv"].into_iter().any(exists)
                || ["container", "KUBERNETES_SERVICE_HOST"]
                    .iter()
                    .any(|name| std::env::var_os(name).is_some()),
            driver_loaded: exists("/proc/driver/nvidia/version"),
        }
    }
}

/// The error with what is to be done in this place.
pub(crate) fn with_advice(error: GpuError, command: &str) -> anyhow::Error {
    match (advice(&error, Surroundings::look()), &error) {
        (Some(advice), _) => anyhow!("{error}. {advice}"),
        (None, GpuError::NoLibrary(_)) => {
            anyhow!("{error}. To try this command without a GPU: whyoom lab run -- {command}")
        }
        (None, _) => error.into(),
    }
}

fn advice(error: &GpuError, here: Surroundings) -> Option<&'static str> {
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
        let said = |error, here| advice(error, here).unwrap_or_default();
        let unknown = GpuError::NoLibrary("not found".to_owned());
        let told = with_advice(unknown, "whyoom top").to_string();
        assert!(
            told.contains("lab run -- whyoom top") || Surroundings::look().driver_loaded,
            "{told}"
        );
        assert!(said(&missing, Surroundings { wsl: true, ..here }).contains("Windows"));
        assert!(said(&missing, Surroundings { driver_loaded: true, ..here }).contains("library"));
        let container = Surroundings { container: true, driver_loaded: true, wsl: false };
        assert!(said(&missing, container).contains("without GPU access"));
        assert!(said(&GpuError::VersionMismatch, container).contains("recreate it"));
        assert_eq!(advice(&GpuError::NoPermission, container), None);
    }
}
