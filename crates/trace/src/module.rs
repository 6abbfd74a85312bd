//! The module of a model that memory belongs to.
//!
//! A stack may carry it as one more frame behind its outermost one: no source needs a field of its own for it, and what
//! is summed by stack is summed by module too.

/// The file of such a frame. Its function is the module's qualified name, its line the role.
pub const MODULE_FILE: &str = "<nn.Module>";

/// What memory is to a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModuleRole {
    /// Made while the module's forward ran.
    Forward,
    /// Made while its backward ran.
    Backward,
    /// Made while its forward ran again, in backward: what a checkpoint did not keep.
    Recompute,
    /// One of its parameters.
    Parameter,
    /// One of its buffers.
    Buffer,
    /// The gradient of one of its parameters.
    Gradient,
    /// What an optimizer keeps for one of its parameters.
    OptimizerState,
}

impl ModuleRole {
    /// All of them. The place of each, and one, is the line that stands for it, in recordings too: none may change.
    pub const ALL: [Self; 7] = [
        Self::Forward,
        Self::Backward,
        Self::Recompute,
        Self::Parameter,
        Self::Buffer,
        Self::Gradient,
        Self::OptimizerState,
    ];

    /// The line of a frame that stands for it.
    #[must_use]
    pub fn line(self) -> u32 {
        self as u32 + 1
    }

    /// What a line stands for.
    #[must_use]
    pub fn of_line(line: u32) -> Option<Self> {
        Self::ALL.get((line as usize).checked_sub(1)?).copied()
    }

    /// Whether a module or an optimizer told what the memory is, not only when it was made.
    #[must_use]
    pub fn is_kind(self) -> bool {
        !matches!(self, Self::Forward | Self::Backward | Self::Recompute)
    }

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Recompute => "recomputation",
            Self::Parameter => "parameter",
            Self::Buffer => "buffer",
            Self::Gradient => "gradient",
            Self::OptimizerState => "optimizer state",
        }
    }
}

/// The module that a stack carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InModule<'a> {
    /// The class of the outermost module, and behind it the module's qualified name: `GPT.layers.3.mlp`.
    pub name: &'a str,
    /// What the memory is to it.
    pub role: ModuleRole,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_has_its_line() {
        let lines: Vec<_> = ModuleRole::ALL.iter().map(|role| role.line()).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5, 6, 7]);
        for role in ModuleRole::ALL {
            assert_eq!(ModuleRole::of_line(role.line()), Some(role));
        }
        assert_eq!((ModuleRole::of_line(0), ModuleRole::of_line(8)), (None, None));
    }
}
