//! One page of plain text, for scripts and for terminals that cannot be drawn on.

use whyoom_node::NodeReport;

use crate::{fitting::cut, run::Options, state::State, theme::Theme, views};

/// What the live view would show first, all of it, in lines of at most `width` columns.
#[must_use]
pub fn once(report: NodeReport, width: usize, options: Options) -> String {
    let mut state = State::new(options.device);
    state.update(report);
    let look = Theme { colour: false, ..options.look };
    let mut text = String::new();
    for line in views::page(&state, look, width) {
        let written: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        text.push_str(cut(&written, width, look.cut_mark()).trim_end());
        text.push('\n');
    }
    text
}
