//! The graph API: descriptors with numbered attributes, engines, and plans.

mod attributes;
mod calls;
mod engines;
mod finalize;
mod graph;
mod node;

#[cfg(test)]
mod tests;
