//! A `libnccl.so.2` that takes the memory which NCCL takes, and moves small data between ranks.
//!
//! What fits a message goes from rank to rank: counts, shapes and objects arrive as they were sent.
//! A call returns when the rank has what it gets; on a real GPU the stream would wait, not the call.
//! Larger data stays where it is, and nobody waits for it: kernels compute nothing, so that nobody
//! could tell.
//!
//! Nothing runs when the library is loaded: the driver is looked for when the first communicator
//! is made.

mod alike;
mod buffers;
mod calls;
mod collectives;
mod communicator;
mod configuration;
mod creation;
mod driver;
mod endpoint;
mod exchange;
mod factors;
mod floats;
mod frame;
mod group;
mod information;
mod intake;
mod mailbox;
mod meeting;
mod membership;
mod memory;
mod moves;
mod neighbours;
mod one_sided;
mod pairs;
mod plan;
mod reduction;
mod registration;
mod status;
mod topology;
mod wait;
