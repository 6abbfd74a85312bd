//! Whether a program fits, as text, as a page and as JSON.

mod answer;
mod headline;
mod page;
mod plot;
mod tables;
mod text;
mod words;

use std::io::{self, Write};

pub use answer::{
    FitAmount, FitAnswer, FitAssertion, FitFrontier, FitFrontierRow, FitGeneration, FitGpu,
    FitLargest, FitNote, FitObstacle, FitPeak, FitPoint, FitProcess, FitSetting, FitTokens,
    FitTokensPoint, FitVary,
};
pub use headline::fits_somewhere;
pub(crate) use headline::qualified;
pub use page::FitPage;
use serde::Serialize;
pub use text::write_fit;

use crate::written::write_document;

/// Writes the answer as a JSON document.
pub fn write_fit_json(answer: &FitAnswer, out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        version: u32,
        #[serde(flatten)]
        answer: &'a FitAnswer,
    }
    let document = Document { schema: "whyoom.fit", version: 1, answer };
    write_document(&document, out)
}
