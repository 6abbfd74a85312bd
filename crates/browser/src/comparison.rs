//! Two runs compared.

use wasm_bindgen::prelude::*;
use whyoom_diff as diff;
use whyoom_reading::{RunProfile, SIMULATED};
use whyoom_redact::Paths;
use whyoom_report::{DiffPage, write_diff, write_diff_html, write_diff_json, write_diff_page_json};

use crate::{
    WIDTH, bytes, document,
    file::{PageFile, Progress, ReadFile},
    text, told,
};

/// Two runs, and what differs.
#[wasm_bindgen]
pub struct Comparison {
    runs: [RunProfile; 2],
    comparison: diff::Comparison,
}

#[wasm_bindgen]
impl Comparison {
    /// Reads and compares two files.
    ///
    /// # Errors
    /// What is wrong with them, for people.
    #[wasm_bindgen(constructor)]
    pub fn new(
        a_name: String,
        a_size: f64,
        a_read: ReadFile,
        b_name: String,
        _b_size: f64,
        b_read: ReadFile,
        progress: Progress,
    ) -> Result<Self, JsValue> {
        let runs = [
            run(&PageFile::open(a_name, a_read, progress.clone(), 0.0)?)?,
            run(&PageFile::open(b_name, b_read, progress, a_size)?)?,
        ];
        let comparison = diff::compare(&runs[0].profile, &runs[1].profile);
        Ok(Self { runs, comparison })
    }

    /// The document of `whyoom diff --json`.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn json(&self) -> Result<String, JsValue> {
        document(|out| write_diff_json(&self.comparison, &[], out))
    }

    /// What the terminal shows, without colour.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn text(&self) -> Result<String, JsValue> {
        text(|out| write_diff(&self.comparison, &[], WIDTH, out))
    }

    /// What the page of the comparison shows.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn document(&self) -> Result<String, JsValue> {
        document(|out| write_diff_page_json(&self.page(), out))
    }

    /// The comparison as one file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn html(&self) -> Result<Vec<u8>, JsValue> {
        bytes(|out| write_diff_html(&self.page(), out))
    }
}

impl Comparison {
    fn page(&self) -> DiffPage<'_> {
        let [a, b] = &self.runs;
        DiffPage {
            comparison: &self.comparison,
            conditions: &[],
            timelines: [a.timelines.as_slice(), b.timelines.as_slice()],
            simulated: (a.simulated || b.simulated).then(|| SIMULATED.to_owned()),
            paths: Paths::default(),
        }
    }
}

fn run(file: &PageFile) -> Result<RunProfile, JsValue> {
    let mut run = RunProfile::named(file.name.clone());
    run.take(Some(&file.name), |tables, sink| file.import(tables, sink))?;
    run.simulated = file.is_simulated();
    if run.profile.ranks.is_empty() {
        let name = &file.name;
        return Err(told(format!(
            "{name} contains no memory of a GPU: record the run with whyoom run, or take a PyTorch snapshot"
        )));
    }
    Ok(run)
}
