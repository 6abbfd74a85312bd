//! Start, versions, errors, and functions by name.

use std::{
    ffi::{CString, c_char, c_void},
    io::Write,
    sync::{Once, OnceLock},
};

use whyoom_lab_abi::{Export, Out, Text, exports};
use whyoom_lab_core::{Error, identity};

use crate::{process, status::Status};

exports! { Status;
    fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Error::InvalidValue.into());
        }
        process::initialize()
    }

    fn cuDriverGetVersion(version: Out<i32>) { Ok(version.put(identity::CUDA_VERSION)?) }

    fn cuGetErrorName(code: u32, name: Out<*const c_char>) { Ok(name.put(text(code, 0)?)?) }

    fn cuGetErrorString(code: u32, string: Out<*const c_char>) { Ok(string.put(text(code, 1)?)?) }

    fn cuGetProcAddress_v2(
        symbol: Text,
        function: Out<*const c_void>,
        version: i32,
        _flags: u64,
        result: Out<u32>,
    ) {
        let name = symbol.get()?;
        function.put(std::ptr::null())?;
        match find(&name, version) {
            Some(export) => {
                result.put_if_wanted(FOUND);
                Ok(function.put(export.address)?)
            }
            None => {
                result.put_if_wanted(SYMBOL_NOT_FOUND);
                Err(Error::NotFound.into())
            }
        }
    }

    fn cuGetProcAddress(
        symbol: Text,
        function: Out<*const c_void>,
        version: i32,
        _flags: u64,
    ) {
        let export = find(&symbol.get()?, version).ok_or(Error::NotFound)?;
        Ok(function.put(export.address)?)
    }

    // Undocumented tables are not offered: none exists here.
    fn cuGetExportTable(table: Out<*const c_void>, _id: *const c_void) {
        table.put(std::ptr::null())?;
        tell_who_asks();
        Err(Error::NotFound.into())
    }
}

/// What is written when a library asks for an undocumented table.
const REFUSED: &str = "whyoom lab: this program uses an NVIDIA library that needs the real driver (cuFFT, cuSOLVER, \
     cuSPARSE or a statically linked CUDA runtime) and fails on a simulated GPU. A program of your own: link the CUDA \
     runtime dynamically, with nvcc -cudart shared. If the program falls back to the CPU, its GPU memory figures are \
     meaningless";

/// Writes once per process why the library will fail. Only NVIDIA's own libraries ask for those tables, and their error
/// messages ("not initialized", "internal error") do not say it.
fn tell_who_asks() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        // Standard error may be closed; the program must not notice.
        let _ = writeln!(std::io::stderr(), "{REFUSED}");
    });
}

/// `CU_GET_PROC_ADDRESS_SUCCESS` and `CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND`.
const FOUND: u32 = 0;
const SYMBOL_NOT_FOUND: u32 = 1;

/// From which CUDA version on a name means a newer function; what is not here means the newest.
const SINCE: &[(&str, i32)] = &[
    ("cuCtxCreate_v2", 3020),
    ("cuCtxCreate_v4", 12050),
    ("cuCtxGetDevice_v2", 13000),
    ("cuCtxSynchronize_v2", 13000),
    ("cuEventElapsedTime_v2", 12080),
    ("cuGetProcAddress_v2", 12000),
    ("cuGraphAddDependencies_v2", 12030),
    ("cuGraphAddNode_v2", 12030),
    ("cuGraphExecUpdate_v2", 12000),
    ("cuGraphGetEdges_v2", 12030),
    ("cuGraphNodeGetDependencies_v2", 12030),
    ("cuGraphNodeGetDependentNodes_v2", 12030),
    ("cuGraphRemoveDependencies_v2", 12030),
    ("cuMemAdvise_v2", 12020),
    ("cuMemPrefetchAsync_v2", 12020),
    ("cuStreamGetCaptureInfo_v2", 11030),
    ("cuStreamGetCaptureInfo_v3", 12030),
    ("cuStreamUpdateCaptureDependencies_v2", 12030),
];

/// The function that a name means to a program built for a CUDA version.
fn find(name: &str, version: i32) -> Option<Export> {
    let exports = || {
        [
            EXPORTS,
            crate::captures::EXPORTS,
            crate::contexts::EXPORTS,
            crate::copies::EXPORTS,
            crate::devices::EXPORTS,
            crate::events::EXPORTS,
            crate::graphs::EXPORTS,
            crate::graphs::execution::EXPORTS,
            crate::graphs::memory::EXPORTS,
            crate::graphs::node_parameters::EXPORTS,
            crate::graphs::nodes::EXPORTS,
            crate::graphs::objects::EXPORTS,
            crate::graphs::tools::EXPORTS,
            crate::host_memory::EXPORTS,
            crate::ipc::EXPORTS,
            crate::launches::EXPORTS,
            crate::libraries::EXPORTS,
            crate::memory::EXPORTS,
            crate::modules::EXPORTS,
            crate::pointers::EXPORTS,
            crate::pools::EXPORTS,
            crate::refused::REFUSALS,
            crate::streams::EXPORTS,
            crate::virtual_memory::EXPORTS,
        ]
        .into_iter()
        .flatten()
    };
    // From 12.0 on, this name means the function that has another one of its own.
    let name = match name {
        "cuGraphInstantiate" if version >= 12000 => "cuGraphInstantiateWithFlags",
        name => name,
    };
    let newest = ["_v4", "_v3", "_v2", ""].iter().find_map(|suffix| {
        let symbol = format!("{name}{suffix}");
        let since = SINCE.iter().find(|(known, _)| *known == symbol).map_or(0, |(_, since)| *since);
        exports().find(|export| since <= version && export.name == symbol)
    });
    newest.copied()
}

/// The name or the description of an error, as text that lives for ever.
fn text(code: u32, which: usize) -> Result<*const c_char, Error> {
    static TEXTS: OnceLock<Vec<(u32, [CString; 2])>> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let line = |text: &str| CString::new(text).unwrap_or_default();
        let success = (0, [line("CUDA_SUCCESS"), line("no error")]);
        let errors = Error::ALL.iter();
        let errors =
            errors.map(|error| (error.code(), [line(error.symbol()), line(&error.to_string())]));
        [success].into_iter().chain(errors).collect()
    });
    let found = texts.iter().find(|(known, _)| *known == code).ok_or(Error::InvalidValue)?;
    Ok(found.1[which].as_ptr())
}
