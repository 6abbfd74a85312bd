//! The documented functions that the lab has nothing to say to. Each exists, so that a program that
//! looks it up finds it, and answers that it is not supported, so that a monitor shows a gap.

mod divided;
mod links;
mod properties;
mod sensors;
mod settings;
mod system;
mod wear;
