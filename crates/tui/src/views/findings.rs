//! What is suspicious, in full.

use ratatui::{
    layout::Rect,
    style::Style,
    text::{Line, Span},
};
use whyoom_node::Suspicion;

use super::{
    OwnLine, edges,
    overlay::{Overlay, Place, text_width},
};
use crate::{fitting::wrapped, look::Look, state::State};

pub(super) fn overlay(state: &State, look: Look, body: Rect) -> Overlay {
    let width = text_width(body);
    let chosen = state.arrangement.device;
    let mut lines = Vec::new();
    let devices = state.report().map_or(&[][..], |report| &report.devices);
    for device in devices {
        if chosen.is_some_and(|chosen| chosen != device.device.index) {
            continue;
        }
        let title = format!("GPU {}  {}", device.device.index, device.device.name);
        lines.extend(paragraph(&title, look.strong(), width));
        if device.suspicions.is_empty() {
            lines.push(Line::styled("nothing suspicious", look.faint()));
        }
        for suspicion in &device.suspicions {
            lines.extend(in_full(suspicion, look, width));
        }
        lines.push(Line::default());
    }
    lines.extend(edges::notes(state, look, width));
    Overlay { title: "Why".to_owned(), lines, place: Place::Everywhere }
}

/// The answer, the numbers that show it, and the command that frees the memory.
pub(super) fn in_full(suspicion: &Suspicion, look: Look, width: usize) -> Vec<OwnLine> {
    let mut lines = paragraph(&format!("! {}", suspicion.headline), look.alarm(), width);
    lines.extend(paragraph(&suspicion.because, Style::new(), width));
    if let Some(command) = &suspicion.command {
        let mut command = paragraph(command, look.paste(), width.saturating_sub(2));
        for line in &mut command {
            line.spans.insert(0, Span::raw("  "));
        }
        lines.extend(command);
    }
    lines
}

fn paragraph(text: &str, style: Style, width: usize) -> Vec<OwnLine> {
    wrapped(text, width).into_iter().map(|line| Line::from(Span::styled(line, style))).collect()
}
