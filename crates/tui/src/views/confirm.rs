//! The question before a signal is sent.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    OwnLine,
    overlay::{Overlay, Place, text_width},
};
use crate::{
    fitting::cut,
    state::{Confirmation, Signal},
    theme::Theme,
    wording,
};

pub(super) fn overlay(question: &Confirmation, theme: Theme, body: Rect) -> Overlay {
    let target = &question.target;
    let width = text_width(body);
    let unknown = || "?".to_owned();
    let field = |label: &str, text: &str| {
        let text = cut(text, width.saturating_sub(9), theme.cut_mark());
        Line::from(format!("{label:<8} {text}"))
    };
    let lines = vec![
        field("process", &target.pid.to_string()),
        field("user", &target.user.clone().unwrap_or_else(unknown)),
        field("command", &target.command.clone().unwrap_or_else(unknown)),
        field("holds", &wording::holdings(&target.holds)),
        choice(question.signal, theme),
        keys(question.signal, theme),
    ];
    let title = format!("Send {} to process {}?", question.signal.word(), target.pid);
    Overlay { title, lines, place: Place::Middle }
}

fn choice(chosen: Signal, theme: Theme) -> OwnLine {
    let mut spans = vec![Span::raw("signal   ")];
    for signal in Signal::ALL {
        if signal == chosen {
            spans.push(Span::styled(format!("[{}]", signal.word()), theme.selected()));
        } else {
            spans.push(Span::raw(format!(" {} ", signal.word())));
        }
    }
    spans.push(Span::styled(format!("  {}", chosen.sentence()), theme.faint()));
    Line::from(spans)
}

fn keys(chosen: Signal, theme: Theme) -> OwnLine {
    Line::from(vec![
        Span::styled("y", theme.alarm()),
        Span::raw(format!(" sends {}  ", chosen.word())),
        Span::styled("n", theme.paste()),
        Span::raw(" no  "),
        Span::styled("<- ->", theme.paste()),
        Span::raw(" other"),
    ])
}
