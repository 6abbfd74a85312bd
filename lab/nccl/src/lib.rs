//! A `libnccl.so.2` that takes the memory which NCCL takes, and moves nothing between ranks.
//!
//! Ranks are assumed to be alike: each runs the same program on data of the same shape. A
//! collective therefore needs nobody else. It gives a rank what the others would have sent if they
//! held what this one holds, and completes without waiting for them.
//!
//! Nothing runs when the library is loaded: the driver is looked for when the first communicator
//! is made.

mod buffers;
mod collectives;
mod communicator;
mod configuration;
mod creation;
mod driver;
mod group;
mod information;
mod meeting;
mod memory;
mod moves;
mod neighbours;
mod one_sided;
mod pairs;
mod registration;
mod status;
mod topology;
mod transfers;
