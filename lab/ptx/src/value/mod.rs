//! Values in registers, all of them 64 bits wide, and arithmetic on them. Pure functions of bits.

pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod integer;
mod kind;

pub(crate) use self::kind::{Class, Kind, mask};
