//! All about one process: sections, each a file that makes lines of what it knows.

mod memory;
mod process;
mod recorded;
mod suspicions;

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};
use whyoom_node::NodeReport;

use super::{
    OwnLine,
    overlay::{Overlay, Place, text_width},
};
use crate::{
    fitting::wrapped,
    look::Look,
    state::{Entry, State},
};

/// The process, and how to write about it.
struct Subject<'a> {
    entry: Entry<'a>,
    report: &'a NodeReport,
    look: Look,
    width: usize,
}

/// Makes the lines of one section; none where there is nothing to say.
type Section = fn(&Subject<'_>) -> Vec<OwnLine>;

/// The sections, from top to bottom. What is known from elsewhere gets a file and a line here.
const SECTIONS: [Section; 4] = [process::lines, memory::lines, recorded::lines, suspicions::lines];

/// Before a value.
const LABEL: usize = 10;

pub(super) fn overlay(state: &State, look: Look, body: Rect) -> Overlay {
    let (Some(entry), Some(report)) = (state.selected_entry(), state.report()) else {
        return Overlay { title: String::new(), lines: Vec::new(), place: Place::Everywhere };
    };
    let subject = Subject { entry, report, look, width: text_width(body) };
    let mut lines = Vec::new();
    for section in SECTIONS {
        let more = section(&subject);
        if !lines.is_empty() && !more.is_empty() {
            lines.push(Line::default());
        }
        lines.extend(more);
    }
    let title = format!("Process {}", entry.holder.pid);
    Overlay { title, lines, place: Place::Everywhere }
}

impl Subject<'_> {
    /// A label and a value, which goes on below itself where it is long.
    fn field(&self, label: &str, value: &str) -> Vec<OwnLine> {
        let mut label = format!("{label:<LABEL$}");
        let mut lines = Vec::new();
        for part in wrapped(value, self.width.saturating_sub(LABEL)) {
            let lead = Span::styled(std::mem::take(&mut label), self.look.faint());
            let lead = if lead.content.is_empty() { Span::raw(" ".repeat(LABEL)) } else { lead };
            lines.push(Line::from(vec![lead, Span::raw(part)]));
        }
        lines
    }
}
