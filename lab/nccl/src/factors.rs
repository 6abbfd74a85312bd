//! Reductions that a caller made: each rank's data is multiplied by a number before the sum.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use cudarc::driver::sys::CUdeviceptr;

use crate::status::Failure;

/// The first number that is not a built-in `ncclRedOp_t`.
const FIRST: u32 = 5;

/// Where the number is that data is multiplied by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Factor {
    /// It was read when the reduction was made.
    Immediate(Vec<u8>),
    /// In device memory, to be read when the reduction is used.
    OnDevice(CUdeviceptr),
}

/// The reductions of a communicator, by their number.
#[derive(Default)]
pub(crate) struct Factors(Mutex<BTreeMap<u32, Factor>>);

impl Factors {
    /// Keeps one, under a number that is not in use.
    pub(crate) fn add(&self, factor: Factor) -> u32 {
        let mut factors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = (FIRST..).find(|number| !factors.contains_key(number)).unwrap_or(FIRST);
        factors.insert(number, factor);
        number
    }

    pub(crate) fn remove(&self, number: u32) -> Result<(), Failure> {
        let mut factors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        factors.remove(&number).map(drop).ok_or(Failure::InvalidArgument)
    }

    /// A reduction's factor; nothing for those that are built in.
    pub(crate) fn get(&self, number: u32) -> Result<Option<Factor>, Failure> {
        if number < FIRST {
            return Ok(None);
        }
        let factors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        factors.get(&number).cloned().map(Some).ok_or(Failure::InvalidArgument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_again() {
        let factors = Factors::default();
        let add = || factors.add(Factor::Immediate(vec![1]));
        assert_eq!([add(), add()], [5, 6]);
        factors.remove(5).expect("kept");
        assert!(factors.remove(5).is_err() && factors.get(5).is_err());
        assert_eq!(factors.get(4), Ok(None));
        assert_eq!(factors.get(6), Ok(Some(Factor::Immediate(vec![1]))));
        assert_eq!(add(), 5);
    }
}
