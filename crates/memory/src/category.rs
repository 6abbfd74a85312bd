//! What a block probably is, in the words people use.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a block probably is, as far as the frames of its stack tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Category {
    /// Made while a module was built, loaded or moved.
    Parameters,
    /// Made in backward: gradients, and what is needed on the way to them.
    Gradients,
    /// Made by an optimizer.
    OptimizerState,
    /// Made in forward.
    Activations,
    /// A model's scores for every class or word, what a loss makes of them, and their gradients.
    Logits,
    /// Keys and values that attention keeps of earlier tokens.
    KvCache,
    /// Made by backward or an optimizer on the way to what was told to be a gradient or optimizer state.
    Temporaries,
    /// A library's scratch space.
    Workspaces,
    /// Made outside any module: batches and whatever else the program put on the device.
    Inputs,
    /// The stack does not tell, or there is none.
    Unattributed,
}

impl Category {
    /// All of them, in the order that people read them.
    pub const ALL: [Self; 10] = [
        Self::Parameters,
        Self::Gradients,
        Self::OptimizerState,
        Self::Activations,
        Self::Logits,
        Self::KvCache,
        Self::Temporaries,
        Self::Workspaces,
        Self::Inputs,
        Self::Unattributed,
    ];

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::OptimizerState => "optimizer state",
            Self::Activations => "activations",
            Self::Logits => "logits and loss",
            Self::KvCache => "KV cache",
            Self::Temporaries => "temporaries",
            Self::Workspaces => "workspaces",
            Self::Inputs => "inputs",
            Self::Unattributed => "unattributed",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
