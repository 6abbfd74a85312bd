//! One run: its files, then the verdict and its report.

use wasm_bindgen::prelude::*;
use whyoom_causes::Verdict;
use whyoom_reading::{self as reading, ReportOf};
use whyoom_redact::Paths;
use whyoom_report::{
    Detail, Report, VerdictParts, write_report_html, write_report_json, write_verdict,
    write_verdict_json,
};
use whyoom_sources::InputKind;

use crate::{
    WIDTH, bytes, document,
    file::{PageFile, Progress, ReadFile},
    text, told,
};

/// What is asked about one run.
#[wasm_bindgen]
pub struct Inquiry {
    inquiry: reading::Inquiry,
    /// Each with what it was taken for.
    files: Vec<(PageFile, InputKind)>,
    verdict: Option<Verdict>,
}

#[wasm_bindgen]
impl Inquiry {
    /// One of which nothing was read yet.
    #[wasm_bindgen(constructor)]
    pub fn new(for_report: bool) -> Self {
        Self { inquiry: reading::Inquiry::new(for_report), files: Vec::new(), verdict: None }
    }

    /// Reads a file of the run.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn add(
        &mut self,
        name: String,
        _size: f64,
        read: ReadFile,
        progress: Progress,
    ) -> Result<(), JsValue> {
        let file = PageFile::open(name, read, progress, 0.0)?;
        self.inquiry.begin_launch();
        let kind = match &file.packed {
            Some(packed) => {
                self.inquiry.take_packed(packed).map(|()| InputKind::Recording).map_err(told)?
            }
            None => self.inquiry.take(|tables, sink| file.import(tables, sink))?,
        };
        self.files.push((file, kind));
        Ok(())
    }

    /// Finds the cause, and replays what may prove fixes.
    ///
    /// # Errors
    /// Where a file cannot be read once more.
    pub fn judge(&mut self) -> Result<(), JsValue> {
        let Self { inquiry, files, .. } = self;
        let verdict = inquiry.judge(|tables, workloads| {
            let mut with_history = files.iter().filter(|(_, kind)| *kind != InputKind::Text);
            with_history.try_for_each(|(file, _)| file.import_all(tables, workloads))
        })?;
        self.verdict = Some(verdict);
        Ok(())
    }

    /// The document of `whyoom why --json`.
    ///
    /// # Errors
    /// Before [`Self::judge`].
    pub fn verdict_json(&self) -> Result<String, JsValue> {
        let answer = self.inquiry.answer(self.verdict()?);
        document(|out| write_verdict_json(&answer, VerdictParts::default(), out))
    }

    /// What the terminal shows, without colour.
    ///
    /// # Errors
    /// Before [`Self::judge`].
    pub fn verdict_text(&self) -> Result<String, JsValue> {
        let answer = self.inquiry.answer(self.verdict()?);
        text(|out| write_verdict(&answer, Detail::Short, WIDTH, out))
    }

    /// What the page of the report shows.
    ///
    /// # Errors
    /// Before [`Self::judge`].
    pub fn report_document(&mut self) -> Result<String, JsValue> {
        self.with_report(|report| document(|out| write_report_json(report, out)))
    }

    /// The report as one file.
    ///
    /// # Errors
    /// Before [`Self::judge`].
    pub fn report_html(&mut self) -> Result<Vec<u8>, JsValue> {
        self.with_report(|report| bytes(|out| write_report_html(report, out)))
    }
}

impl Inquiry {
    fn verdict(&self) -> Result<&Verdict, JsValue> {
        self.verdict.as_ref().ok_or_else(|| told("nothing was judged yet"))
    }

    fn with_report<T>(
        &mut self,
        then: impl FnOnce(&Report<'_>) -> Result<T, JsValue>,
    ) -> Result<T, JsValue> {
        let verdict = self.verdict.as_ref().ok_or_else(|| told("nothing was judged yet"))?;
        let about = ReportOf { paths: Paths::default(), full_paths: false };
        self.inquiry.with_report(verdict, about, then)
    }
}
