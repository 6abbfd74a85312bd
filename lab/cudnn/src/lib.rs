//! A `libcudnn.so.9` that says how much memory cuDNN wants, and computes nothing.
//!
//! cuDNN works in memory that its caller brings: workspaces, and reserve spaces that live from a
//! forward pass to its backward pass. So what matters of it is how much it asks for, and that is
//! `workspace`, in one place. Descriptors are kept honestly: what was set is what is read back.

mod algorithms;
mod backend;
mod batch_norm;
mod convolution;
mod ctc;
mod driver;
mod dropout;
mod handle;
mod images;
mod information;
mod object;
mod proposals;
mod release;
mod rnn;
mod rnn_runs;
mod rnn_weights;
mod shape;
pub mod status;
mod tensors;
mod workspace;

#[cfg(test)]
mod calls_tests;
