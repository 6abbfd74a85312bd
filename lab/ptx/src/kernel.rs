//! What a module's text declares.

use crate::{
    error::Refused,
    step::{Guarded, Step},
};

/// A module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub(crate) kernels: Vec<(String, Result<Kernel, Refused>)>,
}

impl Module {
    /// The names of its kernels.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|(name, _)| name.as_str())
    }

    /// A kernel, or why it cannot be run.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<Result<&Kernel, &Refused>> {
        let found = self.kernels.iter().find(|(known, _)| known == name);
        found.map(|(_, kernel)| kernel.as_ref())
    }
}

/// A kernel that can be run.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    pub(crate) code: Vec<Guarded>,
    /// Where each parameter begins, and its bytes.
    pub(crate) parameters: Vec<(usize, usize)>,
    pub(crate) registers: usize,
    /// Bytes of shared memory before what the launch adds.
    pub(crate) shared: usize,
    /// Bytes of each thread's own memory.
    pub(crate) local: usize,
}

impl Kernel {
    /// The bytes of each parameter, in order.
    pub fn parameters(&self) -> impl Iterator<Item = usize> {
        self.parameters.iter().map(|(_, size)| *size)
    }

    /// The parameters as the kernel reads them, from the bytes of each.
    #[must_use]
    pub fn packed<'a>(&self, values: impl IntoIterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
        let mut packed = Vec::new();
        let mut values = values.into_iter();
        for (start, size) in &self.parameters {
            let value = values.next().filter(|value| value.len() == *size)?;
            packed.resize(*start, 0);
            packed.extend_from_slice(value);
        }
        Some(packed)
    }

    /// Whether it computes with floating-point numbers.
    #[must_use]
    pub fn computes_floats(&self) -> bool {
        self.code.iter().any(|one| matches!(one.step, Step::Float { .. }))
    }
}
