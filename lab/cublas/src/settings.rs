//! Making and ending handles, and what can be set on them.

use whyoom_lab_abi::{Out, exports};

use crate::{
    handle::{Handle, HandlePointer},
    status::{Failure, Status},
};

/// What cuBLAS asks of a caller's workspace.
const WORKSPACE_ALIGNMENT: usize = 256;

/// A mode with two values, 0 and 1.
fn either(mode: u32) -> Result<u32, Failure> {
    if mode <= 1 { Ok(mode) } else { Err(Failure::InvalidValue) }
}

exports! { Status;
    fn cublasCreate_v2(handle: Out<HandlePointer>) {
        if handle.is_null() {
            return Err(Failure::InvalidValue);
        }
        Ok(handle.put(Handle::create()?)?)
    }
    fn cublasDestroy_v2(handle: HandlePointer) {
        handle.destroy()
    }

    fn cublasSetStream_v2(handle: HandlePointer, stream: usize) {
        let mut settings = handle.get()?.settings();
        settings.stream = stream;
        // Documented: back to the default pool, whether the stream changes or not.
        settings.workspace = None;
        Ok(())
    }
    fn cublasGetStream_v2(handle: HandlePointer, stream: Out<usize>) {
        Ok(stream.put(handle.get()?.settings().stream)?)
    }
    fn cublasSetWorkspace_v2(handle: HandlePointer, workspace: usize, bytes: usize) {
        let handle = handle.get()?;
        if !workspace.is_multiple_of(WORKSPACE_ALIGNMENT) {
            return Err(Failure::InvalidValue);
        }
        handle.settings().workspace = Some((workspace, bytes));
        Ok(())
    }

    fn cublasSetPointerMode_v2(handle: HandlePointer, mode: u32) {
        handle.get()?.settings().pointer_mode = either(mode)?;
        Ok(())
    }
    fn cublasGetPointerMode_v2(handle: HandlePointer, mode: Out<u32>) {
        Ok(mode.put(handle.get()?.settings().pointer_mode)?)
    }
    fn cublasSetMathMode(handle: HandlePointer, mode: u32) {
        handle.get()?.settings().math_mode = mode;
        Ok(())
    }
    fn cublasGetMathMode(handle: HandlePointer, mode: Out<u32>) {
        Ok(mode.put(handle.get()?.settings().math_mode)?)
    }
    fn cublasSetAtomicsMode(handle: HandlePointer, mode: u32) {
        handle.get()?.settings().atomics_mode = either(mode)?;
        Ok(())
    }
    fn cublasGetAtomicsMode(handle: HandlePointer, mode: Out<u32>) {
        Ok(mode.put(handle.get()?.settings().atomics_mode)?)
    }
    fn cublasSetEmulationStrategy(handle: HandlePointer, strategy: u32) {
        handle.get()?.settings().emulation = strategy;
        Ok(())
    }
    fn cublasGetEmulationStrategy(handle: HandlePointer, strategy: Out<u32>) {
        Ok(strategy.put(handle.get()?.settings().emulation)?)
    }
    fn cublasSetSmCountTarget(handle: HandlePointer, count: i32) {
        let handle = handle.get()?;
        if count < 0 {
            return Err(Failure::InvalidValue);
        }
        handle.settings().multiprocessors = count;
        Ok(())
    }
    fn cublasGetSmCountTarget(handle: HandlePointer, count: Out<i32>) {
        Ok(count.put(handle.get()?.settings().multiprocessors)?)
    }
}
