//! A comparison as a JSON document.

use std::io::{self, Write};

use serde::Serialize;
use whyoom_diff::Comparison;

use super::{DiffCondition, diff_headline};
use crate::written::write_document;

/// Writes a comparison as a JSON document.
pub fn write_diff_json(
    comparison: &Comparison,
    conditions: &[DiffCondition],
    out: &mut dyn Write,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        version: u32,
        answer: String,
        #[serde(flatten)]
        comparison: &'a Comparison,
        conditions: &'a [DiffCondition],
    }
    let answer = diff_headline(comparison);
    write_document(
        &Document { schema: "whyoom.diff", version: 1, answer, comparison, conditions },
        out,
    )
}
