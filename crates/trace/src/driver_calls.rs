//! Driver calls that need memory and allocate none for the program.

/// Beginnings of the names of such calls, and what each does. The first match counts. Every hook of the recorder's
/// `refusals` family has an entry.
const PURPOSES: &[(&str, &str)] = &[
    ("cuGraphInstantiate", "instantiating a CUDA graph"),
    ("cuGraphUpload", "uploading a CUDA graph"),
    ("cuMemMap", "mapping physical memory"),
    ("cuMemSetAccess", "making mapped memory accessible"),
    ("cuMemPoolCreate", "creating a memory pool"),
    ("cuMemcpy", "copying memory"),
    ("cuMemset", "filling memory"),
    ("cuModuleGetFunction", "loading a kernel"),
    ("cuLibraryGet", "loading a kernel"),
    ("cuKernelGetFunction", "loading a kernel"),
    ("cuFuncLoad", "loading a kernel"),
    ("cuStreamCreate", "creating a stream"),
    ("cuGreenCtxStreamCreate", "creating a stream"),
    ("cuEventCreate", "creating an event"),
    ("cuGreenCtxCreate", "creating a green context"),
    ("cuCtxFromGreenCtx", "creating a green context"),
    ("cuCtxEnablePeerAccess", "enabling peer access"),
    ("cuMulticastCreate", "creating a multicast object"),
    ("cuMulticastAddDevice", "adding a GPU to a multicast object"),
    ("cuMulticastBind", "binding memory to a multicast object"),
    ("cuTexObjectCreate", "creating a texture object"),
    ("cuSurfObjectCreate", "creating a surface object"),
];

/// Returns what a driver call does, for a text such as "no memory for creating a stream". Returns `None` if the name is
/// not one of a driver call that is recorded only if it fails, such as the name of a kernel.
#[must_use]
pub fn driver_call_purpose(name: &str) -> Option<&'static str> {
    let known = PURPOSES.iter().find(|(beginning, _)| name.starts_with(beginning));
    known.map(|(_, purpose)| *purpose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_call_have_one_purpose() {
        for name in ["cuGraphInstantiateWithFlags", "cuGraphInstantiateWithParams_ptsz"] {
            assert_eq!(driver_call_purpose(name), Some("instantiating a CUDA graph"), "{name}");
        }
        assert_eq!(driver_call_purpose("cuMemcpyHtoD_v2"), Some("copying memory"));
        for kernel in ["", "sum", "_Z3sumPf", "cub_reduce"] {
            assert_eq!(driver_call_purpose(kernel), None, "{kernel}");
        }
    }
}
