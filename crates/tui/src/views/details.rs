//! All about one process: sections, each a file that makes lines of what it knows.

mod memory;
mod process;
mod recorded;
mod subject;
mod suspicions;

use ratatui::{layout::Rect, text::Line};
use subject::Subject;

use super::{
    OwnLine,
    overlay::{Overlay, Place, text_width},
};
use crate::{state::State, theme::Theme};

/// Makes the lines of one section; none where there is nothing to say.
type Section = fn(&Subject<'_>) -> Vec<OwnLine>;

/// The sections, from top to bottom. What is known from elsewhere gets a file and a line here.
const SECTIONS: [Section; 4] = [process::lines, memory::lines, recorded::lines, suspicions::lines];

pub(super) fn overlay(state: &State, theme: Theme, body: Rect) -> Overlay {
    let (Some(entry), Some(report)) = (state.selected_entry(), state.report()) else {
        return Overlay { title: String::new(), lines: Vec::new(), place: Place::Everywhere };
    };
    let subject = Subject { entry, report, theme, width: text_width(body) };
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
