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
#[derive(Clone, Debug)]
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

    /// Whether the number is one of a reduction, built in or made.
    pub(crate) fn check(&self, number: u32) -> Result<(), Failure> {
        let factors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = number < FIRST || factors.contains_key(&number);
        if is_known { Ok(()) } else { Err(Failure::InvalidArgument) }
    }

    /// A reduction's factor; nothing for those that are built in.
    pub(crate) fn get(&self, number: u32) -> Option<Factor> {
        let factors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        factors.get(&number).cloned()
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
        assert!(factors.remove(5).is_err() && factors.check(5).is_err());
        assert!(factors.check(4).is_ok() && factors.check(6).is_ok());
        assert_eq!(add(), 5);
    }
}
