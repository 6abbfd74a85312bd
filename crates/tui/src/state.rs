//! What is shown, without a word about terminals: reports in, actions in, effects out.

mod actions;
mod confirm;
mod entry;
mod history;
mod order;
mod rows;

use std::collections::HashMap;

use whyoom_node::NodeReport;

pub(crate) use actions::{Action, Effect, Motion};
pub(crate) use confirm::{Confirmation, Signal, Target, holds};
pub(crate) use entry::{Entry, Identity, ProcessState, same_start};
pub(crate) use history::{History, Sample};
pub(crate) use order::Order;
pub(crate) use rows::{Arrangement, Row};

/// What lies over the table, and so what keys mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    Table,
    /// The filter is being typed.
    Filter,
    /// All about the selected process.
    Details,
    /// All that is suspicious, in full.
    Findings,
    Help,
    Confirm(Confirmation),
}

/// What the last drawing found out: how far one can move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Drawn {
    /// Rows of the table that fit.
    pub(crate) page: usize,
    /// Lines of the text on top that do not fit.
    pub(crate) hidden_lines: usize,
    /// Whether the question was shown whole: what cannot be read cannot be answered.
    pub(crate) question_is_whole: bool,
}

/// Everything that is shown.
#[derive(Debug, Default)]
pub(crate) struct State {
    report: Option<NodeReport>,
    histories: HashMap<String, History>,
    pub(crate) arrangement: Arrangement,
    rows: Vec<Row>,
    selected: usize,
    /// Who is selected, so that the selection follows it when rows move.
    selection: Option<Identity>,
    pub(crate) mode: Mode,
    pub(crate) paused: bool,
    /// A look was asked for: its report is taken even while paused.
    awaiting: bool,
    /// Lines by which the text on top is moved up.
    pub(crate) scroll: usize,
    drawn: Drawn,
    /// What the last action led to, until the next one.
    pub(crate) message: Option<String>,
    /// Why the last look failed.
    pub(crate) trouble: Option<String>,
}

impl State {
    /// Before the first report; only one device, by its number, where that is asked for.
    pub(crate) fn new(device: Option<u32>) -> Self {
        let arrangement = Arrangement { device, ..Arrangement::default() };
        Self { arrangement, ..Self::default() }
    }

    pub(crate) fn report(&self) -> Option<&NodeReport> {
        self.report.as_ref()
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The selected row's place.
    pub(crate) fn selected(&self) -> Option<usize> {
        self.selection.map(|_| self.selected)
    }

    pub(crate) fn history(&self, uuid: &str) -> Option<&History> {
        self.histories.get(uuid)
    }

    /// What a row shows.
    pub(crate) fn entry(&self, row: &Row) -> Option<Entry<'_>> {
        rows::entry(self.report.as_ref()?, row)
    }

    /// What the selected row shows.
    pub(crate) fn selected_entry(&self) -> Option<Entry<'_>> {
        self.entry(self.rows.get(self.selected()?)?)
    }

    /// Takes a new report; while paused only one that was asked for.
    pub(crate) fn update(&mut self, report: NodeReport) {
        if self.paused && !self.awaiting {
            return;
        }
        self.awaiting = false;
        self.trouble = None;
        self.remember(&report);
        self.report = Some(report);
        self.arrange();
        self.withdraw_question();
    }

    /// Takes the news that a look failed: what was seen before stays.
    pub(crate) fn fail(&mut self, why: String) {
        self.trouble = Some(why);
    }

    /// Takes what a drawing found out.
    pub(crate) fn drawn(&mut self, drawn: Drawn) {
        self.drawn = drawn;
        self.scroll = self.scroll.min(drawn.hidden_lines);
    }

    fn remember(&mut self, report: &NodeReport) {
        let is_there = |uuid: &String| report.devices.iter().any(|one| one.device.uuid == *uuid);
        self.histories.retain(|uuid, _| is_there(uuid));
        for device in &report.devices {
            let history = self.histories.entry(device.device.uuid.clone()).or_default();
            history.push(Sample::of(&device.device));
        }
    }

    /// Makes the rows anew and finds the selected process among them.
    fn arrange(&mut self) {
        let Some(report) = &self.report else { return };
        self.rows = rows::rows(report, &self.arrangement);
        let found = self.selection.and_then(|wanted| {
            let identity = |row: &Row| rows::entry(report, row).map(|entry| entry.identity());
            let same = |row: &Row| identity(row).is_some_and(|one| one.same_process(&wanted));
            let here = |row: &Row| identity(row).is_some_and(|one| one.device == wanted.device);
            let place = self.rows.iter().position(|row| same(row) && here(row));
            place.or_else(|| self.rows.iter().position(same))
        });
        if let (Mode::Details, None, Some(gone)) = (&self.mode, found, self.selection) {
            self.mode = Mode::Table;
            self.message = Some(format!("process {} has exited", gone.pid));
        }
        // Where the process has gone, the selection stays where it was.
        self.select(found.unwrap_or(self.selected));
    }

    /// Selects a row by its place, the last where there are fewer.
    fn select(&mut self, place: usize) {
        self.selected = place.min(self.rows.len().saturating_sub(1));
        let entry = self.rows.get(self.selected).and_then(|row| self.entry(row));
        self.selection = entry.map(|entry| entry.identity());
    }

    /// A question about a process that has ended needs no answer.
    fn withdraw_question(&mut self) {
        let Mode::Confirm(question) = &self.mode else { return };
        let pid = question.target.pid;
        if self.report.as_ref().is_some_and(|report| !question.target.is_in(report)) {
            self.mode = Mode::Table;
            self.message = Some(format!("process {pid} has already exited: nothing was sent"));
        }
    }
}
