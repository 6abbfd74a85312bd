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
use crate::{fitting::wrapped, state::State, theme::Theme};

pub(super) fn overlay(state: &State, theme: Theme, body: Rect) -> Overlay {
    let width = text_width(body);
    let chosen = state.arrangement.device;
    let mut lines = Vec::new();
    let devices = state.report().map_or(&[][..], |report| &report.devices);
    for device in devices {
        if chosen.is_some_and(|chosen| chosen != device.device.index) {
            continue;
        }
        let title = format!("GPU {}  {}", device.device.index, device.device.name);
        lines.extend(paragraph(&title, theme.strong(), width));
        if device.suspicions.is_empty() {
            lines.push(Line::styled("nothing suspicious", theme.faint()));
        }
        for suspicion in &device.suspicions {
            lines.extend(in_full(suspicion, theme, width));
        }
        lines.push(Line::default());
    }
    lines.extend(edges::notes(state, theme, width));
    Overlay { title: "Why".to_owned(), lines, place: Place::Everywhere }
}

/// The answer, the numbers that show it, and the command that frees the memory.
pub(super) fn in_full(suspicion: &Suspicion, theme: Theme, width: usize) -> Vec<OwnLine> {
    let mut lines = paragraph(&format!("! {}", suspicion.headline), theme.alarm(), width);
    lines.extend(paragraph(&suspicion.because, Style::new(), width));
    if let Some(command) = &suspicion.command {
        let mut command = paragraph(command, theme.paste(), width.saturating_sub(2));
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
