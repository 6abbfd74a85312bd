//! An amount of memory.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use whyoom_trace::Bytes;

/// An amount of memory, in bytes and as people read it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Amount {
    bytes: i64,
    shown: String,
}

impl Amount {
    pub(crate) fn new(bytes: i64) -> Self {
        let sign = if bytes < 0 { "-" } else { "" };
        Self { bytes, shown: format!("{sign}{}", Bytes(bytes.unsigned_abs())) }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}
