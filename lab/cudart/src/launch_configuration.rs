//! The configuration between `<<<` and `>>>`, on its way to the launch that follows it.

use std::cell::RefCell;

use cudarc::{driver::sys::CUstream, runtime::sys::dim3};
use whyoom_lab_abi::{Out, exports};

use crate::error::{Failure, Status};

#[derive(Clone, Copy)]
struct Configuration {
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: CUstream,
}

thread_local! {
    /// A stack: the arguments of a launch may launch kernels themselves.
    static PENDING: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

exports! { Status;
    fn __cudaPushCallConfiguration(grid: dim3, block: dim3, shared: usize, stream: CUstream) {
        with_pending(|pending| pending.push(Configuration { grid, block, shared, stream }))
    }

    fn __cudaPopCallConfiguration(grid: Out<dim3>, block: Out<dim3>, shared: Out<usize>, stream: Out<CUstream>) {
        let configuration = with_pending(Vec::pop)?.ok_or(Failure::MISSING_CONFIGURATION)?;
        grid.put(configuration.grid)?;
        block.put(configuration.block)?;
        shared.put(configuration.shared)?;
        Ok(stream.put(configuration.stream)?)
    }
}

fn with_pending<T>(change: impl FnOnce(&mut Vec<Configuration>) -> T) -> Result<T, Failure> {
    // A thread that is ending has no stack any more, and launches nothing.
    PENDING
        .try_with(|pending| change(&mut pending.borrow_mut()))
        .map_err(|_| Failure::MISSING_CONFIGURATION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;
    use whyoom_lab_abi::Status as _;

    #[test]
    fn configurations_come_back_last_first() {
        let shape = |x| dim3 { x, y: 1, z: 1 };
        for x in [7, 8] {
            let pushed = __cudaPushCallConfiguration(shape(x), shape(32), 4, ptr::null_mut());
            assert_eq!(pushed, Status::SUCCESS);
        }
        let (mut grid, mut block, mut shared) = (shape(0), shape(0), 0);
        let mut stream = ptr::null_mut();
        let mut pop = || {
            __cudaPopCallConfiguration(
                Out(&mut grid),
                Out(&mut block),
                Out(&mut shared),
                Out(&mut stream),
            )
        };
        assert_eq!(pop(), Status::SUCCESS);
        assert_eq!(pop(), Status::SUCCESS);
        assert_ne!(pop(), Status::SUCCESS);
        assert_eq!((grid, block, shared), (shape(7), shape(32), 4));
    }
}
