//! What differs between operating systems.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    create_private_folder, next_data, next_hole, private, read_at, rewind, without_waiting,
};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{
    create_private_folder, next_data, next_hole, private, read_at, rewind, without_waiting,
};

/// Whether a link is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    Links,
    Nothing,
}
