//! Which release the stand-in says it is: the one it stands in for.
//!
//! PyTorch refuses a cuDNN that is older than the one it was built with, and asks newer ones for
//! more. Its wheels bring cuDNN as a package of their own, beside PyTorch: that package's name says
//! which release a program would have got. Without it, the newest release known here is answered.

use std::{
    ffi::{CStr, OsStr, c_int, c_void},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// A release, and the CUDA that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// Major, minor and patch.
    pub parts: [usize; 3],
    /// The major version of CUDA.
    pub cuda: usize,
}

/// That of the PyTorch 2.15 wheels for CUDA 13.
const NEWEST: Release = Release { parts: [9, 26, 0], cuda: 13 };

/// How the folder begins that describes the package, on PyPI for CUDA 12 and 13 alike.
const PACKAGE: &str = "nvidia_cudnn_cu";

impl Release {
    /// The release that this process would have got.
    pub(crate) fn of_this_process() -> Self {
        static RELEASE: OnceLock<Release> = OnceLock::new();
        if let Some(known) = RELEASE.get() {
            return *known;
        }
        // Whoever asks before PyTorch is loaded is not PyTorch, and decides nothing for it.
        match torch_folder() {
            Some(torch) => *RELEASE.get_or_init(|| beside(&torch).unwrap_or(NEWEST)),
            None => NEWEST,
        }
    }

    /// The release in one number, as cuDNN 9 counts.
    pub(crate) fn number(self) -> usize {
        self.parts[0] * 10_000 + self.parts[1] * 100 + self.parts[2]
    }
}

/// The release of the package in the folder of packages that holds this PyTorch.
fn beside(torch: &Path) -> Option<Release> {
    let packages = torch.parent()?;
    let names = fs::read_dir(packages).ok()?.flatten().map(|entry| entry.file_name());
    names.filter_map(|name| parse(name.to_str()?)).find(|release| release.parts[0] == 9)
}

/// Reads `nvidia_cudnn_cu13-9.26.0.51.dist-info`.
fn parse(name: &str) -> Option<Release> {
    let rest = name.strip_prefix(PACKAGE)?.strip_suffix(".dist-info")?;
    let (cuda, version) = rest.split_once('-')?;
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let mut next = || parts.next().flatten();
    Some(Release { parts: [next()?, next()?, next()?], cuda: cuda.parse().ok()? })
}

/// The folder of the PyTorch that is loaded.
fn torch_folder() -> Option<PathBuf> {
    let mut found: Option<PathBuf> = None;
    // SAFETY: `note` gets back the place that is passed here, which lives through the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut found).cast()) };
    // torch/lib/libtorch_cuda.so
    Some(found?.parent()?.parent()?.to_path_buf())
}

/// Called for each library that is loaded; 1 ends the search.
unsafe extern "C" fn note(
    library: *mut libc::dl_phdr_info,
    _: libc::size_t,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the dynamic linker passes a description whose name ends with a zero, or is null.
    let name = unsafe {
        let name = (*library).dlpi_name;
        if name.is_null() {
            return 0;
        }
        CStr::from_ptr(name)
    };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    if path.file_name() != Some(OsStr::new("libtorch_cuda.so")) {
        return 0;
    }
    // SAFETY: `torch_folder` passes the place, and waits for us.
    unsafe { *found.cast::<Option<PathBuf>>() = Some(path.to_path_buf()) };
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_names_its_release() {
        let new = parse("nvidia_cudnn_cu13-9.26.0.51.dist-info").expect("a release");
        assert_eq!(new, NEWEST);
        assert_eq!(new.number(), 92_600);
        let old = parse("nvidia_cudnn_cu12-9.1.0.70.dist-info").expect("a release");
        assert_eq!((old.number(), old.cuda), (90_100, 12));
        assert_eq!(parse("nvidia_cudnn_frontend-1.2.0.dist-info"), None);
        assert_eq!(parse("nvidia_cublas-13.4.1.dist-info"), None);
    }

    #[test]
    fn without_pytorch_it_is_the_newest() {
        assert_eq!(Release::of_this_process(), NEWEST);
    }
}
