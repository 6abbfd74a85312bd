//! Memory resources that are put together: the pool, and adaptors around it.
//!
//! An adaptor owns what it stands on and is a resource itself, so they stack in any order:
//! `Log::new(Limit::new(process::device(0)?, 4 << 30), file)`. Each may be used by all threads at once.

#[cfg(test)]
mod fake;
mod limit;
mod log;
mod pool;
mod statistics;

use std::sync::Arc;

use thiserror::Error;
use whyoom_trace::{Address, Bytes};

use crate::driver::Stream;

pub use limit::Limit;
pub use log::Log;
pub use statistics::{Counter, Statistics};

/// Something that gives out device memory in the order of streams.
pub trait Resource {
    /// At least so many bytes, for work on `stream` from here on.
    ///
    /// # Errors
    /// Where there is no memory; nothing has changed then.
    fn allocate(&self, bytes: u64, stream: Stream) -> Result<Address, ResourceError>;

    /// Takes back what [`allocate`](Self::allocate) gave for so many bytes: the work that uses it stands
    /// before this point of `stream`.
    ///
    /// # Errors
    /// Where it was not given out, or the driver fails; it counts as not taken back then.
    fn deallocate(&self, address: Address, bytes: u64, stream: Stream)
    -> Result<(), ResourceError>;
}

/// Why a resource could not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// A limit that the program set itself stands in the way.
    #[error(
        "{requested} does not fit under the limit of {limit}, of which {allocated} is allocated: \
         free some, or raise the limit"
    )]
    OverLimit {
        /// What was asked for.
        requested: Bytes,
        /// What had been given out by then.
        allocated: Bytes,
        /// The most that is ever given out.
        limit: Bytes,
    },
    /// The pool refused; the code is one of the driver's.
    #[error("{message}")]
    Refused {
        /// As the driver counts: 2 is out of memory, 1 an invalid value.
        code: u32,
        /// What happened and what to do.
        message: String,
    },
}

impl ResourceError {
    /// Whether less or other memory might have been given.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::OverLimit { .. } | Self::Refused { code: 2, .. })
    }
}

/// A resource that several own, or that lives elsewhere, is a resource too.
macro_rules! pass_on {
    ($($pointer:ty),+) => {$(
        impl<R: Resource + ?Sized> Resource for $pointer {
            fn allocate(&self, bytes: u64, stream: Stream) -> Result<Address, ResourceError> {
                (**self).allocate(bytes, stream)
            }

            fn deallocate(
                &self,
                address: Address,
                bytes: u64,
                stream: Stream,
            ) -> Result<(), ResourceError> {
                (**self).deallocate(address, bytes, stream)
            }
        }
    )+};
}

pass_on!(&R, Box<R>, Arc<R>);

#[cfg(test)]
mod tests {
    use super::fake::Fake;
    use super::*;

    #[test]
    fn adaptors_stack_in_any_order() {
        let shared = Arc::new(Fake::new(1000));
        let one = Statistics::new(Log::new(Limit::new(Arc::clone(&shared), 500), Vec::new()));
        let other = Limit::new(Log::new(Statistics::new(&*shared), Vec::new()), 500);
        let both: [Box<dyn Resource + '_>; 2] = [Box::new(one), Box::new(other)];
        for resource in &both {
            let address = resource.allocate(400, Stream(0)).unwrap();
            assert!(resource.allocate(101, Stream(0)).unwrap_err().is_out_of_memory());
            resource.deallocate(address, 400, Stream(0)).unwrap();
        }
        assert_eq!(shared.live(), 0);
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let error = Limit::new(Fake::new(0), 3 << 20).allocate(1 << 30, Stream(0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "1.00 GiB does not fit under the limit of 3.00 MiB, of which 0 B is allocated: free \
             some, or raise the limit"
        );
    }
}
