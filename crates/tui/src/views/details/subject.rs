//! The process that the sections write about, and how they do.

use ratatui::text::{Line, Span};
use whyoom_node::NodeReport;

use super::OwnLine;
use crate::{fitting::wrapped, state::Entry, theme::Theme};

/// Before a value.
const LABEL: usize = 10;

/// The process, and how to write about it.
pub(super) struct Subject<'a> {
    pub(super) entry: Entry<'a>,
    pub(super) report: &'a NodeReport,
    pub(super) theme: Theme,
    pub(super) width: usize,
}

impl Subject<'_> {
    /// A label and a value, which goes on below itself where it is long.
    pub(super) fn field(&self, label: &str, value: &str) -> Vec<OwnLine> {
        let mut label = format!("{label:<LABEL$}");
        let mut lines = Vec::new();
        for part in wrapped(value, self.width.saturating_sub(LABEL)) {
            let lead = Span::styled(std::mem::take(&mut label), self.theme.faint());
            let lead = if lead.content.is_empty() { Span::raw(" ".repeat(LABEL)) } else { lead };
            lines.push(Line::from(vec![lead, Span::raw(part)]));
        }
        lines
    }
}
