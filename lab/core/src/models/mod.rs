//! The GPU models that the simulated device can be, each figure with where it comes from.
//!
//! No figure here was measured by this project: it owns no GPU. A figure is either printed in a
//! vendor document, seen in the output that somebody published from a real GPU, or assumed; its
//! [`Source`] says which, so that a number computed from it can be trusted as far as it deserves.

mod architecture;
mod datacenter;
mod desktop;
mod figure;
mod gpu_model;
mod hbm3;
mod libraries;
mod sheet;
mod table;
#[cfg(test)]
mod tests;

pub use figure::{Figure, Source};
pub use gpu_model::GpuModel;
pub use libraries::CODE_PARTS;
pub use table::MODELS;

/// The alias of the model that is simulated when nobody asks for another.
pub const DEFAULT: &str = "a100-80gb";

/// The model of this name or alias; case, spaces, dashes and underscores do not matter.
pub fn find(name: &str) -> Option<&'static GpuModel> {
    let called = |known: &str| letters(known).eq(letters(name));
    MODELS.iter().find(|model| called(model.name) || model.aliases.iter().copied().any(called))
}

/// What remains of a name when the ways of writing it no longer matter.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase())
}
