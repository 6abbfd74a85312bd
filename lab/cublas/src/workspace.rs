//! What a handle takes on the device: figures and their sources, in one table.

use std::env;

use cudarc::driver::sys::CUdeviceptr;

use crate::{driver::Driver, status::Failure};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Every handle takes this too. Source: the trace named at [`TWO_OF_32_MIB`].
const BOOKKEEPING: usize = KIB;

/// The default workspace pool: its blocks, each one allocation.
#[derive(Clone, Copy, Debug)]
struct DefaultPool {
    /// Major compute capabilities.
    architectures: &'static [i32],
    blocks: &'static [usize],
}

/// `:32768:2:16:8` in the notation of `CUBLAS_WORKSPACE_CONFIG`.
///
/// Source: an Nsight Systems trace of `cublasCreate` on a GB10 (compute capability 12.1, cuBLAS
/// 13.8): 1,024, 131,072 and 67,108,864 bytes, held until `cublasDestroy`, whatever
/// `cublasSetWorkspace` was given (pmeenan/jitLLM, docs/rough-edges.md, RE-028). That 13.4.1 does
/// the same, and 9.x and 10.x too, is assumed: NVIDIA's documentation of `cublasSetWorkspace`
/// derives the recommended size from this pool and names 32 MiB for all three.
const TWO_OF_32_MIB: DefaultPool =
    DefaultPool { architectures: &[9, 10, 12], blocks: &[128 * KIB, 64 * MIB] };

/// `:4096:2:16:8`, on all other devices.
///
/// Source: PyTorch's CublasHandlePool.cpp and documentation name it as the default; NVIDIA's
/// documentation agrees (4 MiB recommended; `:4096:8` takes about 24 MiB more than the default).
/// That it is two allocations is assumed from the trace above.
const TWO_OF_4_MIB: DefaultPool = DefaultPool { architectures: &[], blocks: &[128 * KIB, 8 * MIB] };

/// The sizes of the allocations that `cublasCreate` makes on a device.
fn sizes(architecture: i32, setting: Option<&str>) -> Vec<usize> {
    let default = if TWO_OF_32_MIB.architectures.contains(&architecture) {
        TWO_OF_32_MIB
    } else {
        TWO_OF_4_MIB
    };
    let blocks = setting.and_then(parse).unwrap_or_else(|| default.blocks.to_vec());
    [BOOKKEEPING].into_iter().chain(blocks).filter(|&bytes| bytes > 0).collect()
}

/// Reads `CUBLAS_WORKSPACE_CONFIG`: pairs of size in KiB and count, `:4096:2:16:8`.
///
/// One allocation for each pair was seen in the trace for `:4096:2` and `:16:8`. That text which
/// does not parse leaves the default is assumed.
fn parse(setting: &str) -> Option<Vec<usize>> {
    let numbers = setting.strip_prefix(':')?.split(':').map(|number| number.trim().parse().ok());
    let numbers: Vec<usize> = numbers.collect::<Option<_>>()?;
    let (pairs, rest) = numbers.as_chunks::<2>();
    let bytes = |&[kib, count]: &[usize; 2]| kib.checked_mul(KIB)?.checked_mul(count);
    if rest.is_empty() { pairs.iter().map(bytes).collect() } else { None }
}

/// The memory that a handle holds, from its creation to its end.
pub(crate) struct Pool {
    driver: &'static Driver,
    blocks: Vec<CUdeviceptr>,
}

impl Pool {
    /// Takes the pool of a new handle in the current context.
    pub(crate) fn take() -> Result<Self, Failure> {
        let driver = Driver::get()?;
        let architecture = driver.architecture()?;
        let setting = env::var("CUBLAS_WORKSPACE_CONFIG").ok();
        let mut pool = Self { driver, blocks: Vec::new() };
        for bytes in sizes(architecture, setting.as_deref()) {
            // On failure `pool` is dropped, and gives back what it has.
            pool.blocks.push(driver.allocate(bytes)?);
        }
        Ok(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for &block in &self.blocks {
            self.driver.free(block);
        }
    }
}
