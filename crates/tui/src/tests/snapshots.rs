//! What is seen, compared with committed texts. `WHYOOM_BLESS=1` writes them anew; read the difference.

use std::{fs, path::PathBuf};

use ratatui::{Terminal, backend::TestBackend};
use whyoom_node::NodeReport;

use super::made::{eight, many, recorded, report, usual};
use crate::{
    once::once,
    run::Options,
    state::{Action, Motion, Signal, State},
    theme::Theme,
    views,
};

const UNICODE: Theme = Theme { colour: true, unicode: true };
const ASCII: Theme = Theme { colour: false, unicode: false };

/// What a terminal of that size shows.
fn screen(state: &mut State, look: Theme, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            let area = frame.area();
            let drawn = views::draw(state, look, area, frame.buffer_mut());
            state.drawn(drawn);
        })
        .unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in buffer.content().chunks(usize::from(width)) {
        let mut line = String::new();
        let mut taken = 0;
        for (column, cell) in row.iter().enumerate() {
            // The second half of a wide letter is a cell of its own.
            if column >= taken {
                line.push_str(cell.symbol());
                taken = column + crate::fitting::width(cell.symbol()).max(1);
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn compare(name: &str, seen: &str) {
    let path = PathBuf::from(".").join("src/tests/expected").join(format!("{name}.txt"));
    if std::env::var_os("WHYOOM_BLESS").is_some() {
        fs::write(&path, seen).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(seen, expected, "{name}: {}\n{seen}", path.display());
}

fn state_of(report: NodeReport) -> State {
    let mut state = State::new(None);
    // A history that rises and falls.
    for step in 0..100_u64 {
        let mut earlier = report.clone();
        for device in &mut earlier.devices {
            let share = step.min(100 - step);
            device.device.memory.used = device.device.memory.total / 100 * share;
            if let Some(busy) = &mut device.device.utilization {
                busy.gpu = (step * 7 % 100) as u32;
            }
        }
        state.update(earlier);
    }
    state.update(report);
    state
}

fn check(name: &str, report: NodeReport, actions: &[Action], (width, height): (u16, u16)) {
    let mut state = state_of(report);
    // The first frame tells the state how far one can move.
    screen(&mut state, UNICODE, width, height);
    for action in actions {
        state.apply(*action);
    }
    compare(name, &screen(&mut state, UNICODE, width, height));
}

const USUAL: (u16, u16) = (80, 24);
const WIDE: (u16, u16) = (120, 40);
const SMALL: (u16, u16) = (40, 10);

#[test]
fn sizes() {
    check("usual-80x24", usual(), &[], USUAL);
    check("usual-120x40", usual(), &[], WIDE);
    check("usual-40x10", usual(), &[], SMALL);
}

#[test]
fn none_eight_and_many() {
    let mut none = report(Vec::new());
    none.notes = vec!["The driver answers, and lists no device.".to_owned()];
    check("none-80x24", none, &[], USUAL);
    check("eight-80x24", eight(), &[], USUAL);
    check("eight-120x40", eight(), &[], WIDE);
    check("eight-40x10", eight(), &[], SMALL);
    check(
        "many-80x24",
        many(),
        &[Action::Move(Motion::PageDown), Action::Move(Motion::Down)],
        USUAL,
    );
    check("one-device-80x24", usual(), &[Action::Device(0)], USUAL);
}

#[test]
fn long_commands() {
    let mut long = usual();
    let command = format!("python \u{1b}[31m日本語.py {}", "--option=value ".repeat(40));
    long.devices[0].holders[0].command = Some(command);
    long.devices[0].holders[0].user = Some("a.very.long.user.name@directory".to_owned());
    check("long-80x24", long.clone(), &[], USUAL);
    check("long-details-80x24", long, &[Action::Details], USUAL);
}

#[test]
fn a_recorded_process() {
    check("recorded-details-80x24", recorded(), &[Action::Details], USUAL);
}

#[test]
fn filter_and_tree() {
    let typed: Vec<Action> =
        std::iter::once(Action::Filter).chain("train".chars().map(Action::Type)).collect();
    check("filter-80x24", usual(), &typed, USUAL);
    let nothing = [Action::Filter, Action::Type('%'), Action::Accept];
    check("filter-nothing-80x24", usual(), &nothing, USUAL);
    check("tree-80x24", usual(), &[Action::Tree], USUAL);
}

#[test]
fn texts_on_top() {
    let orphan = [Action::Move(Motion::Down), Action::Move(Motion::Down)];
    let then = |action: Action| [orphan[0], orphan[1], action];
    check("details-80x24", usual(), &then(Action::Details), USUAL);
    check("details-40x10", usual(), &then(Action::Details), SMALL);
    check("findings-80x24", usual(), &[Action::Findings], USUAL);
    check("help-80x24", usual(), &[Action::Help], USUAL);
    check("help-120x40", usual(), &[Action::Help], WIDE);
    check("help-40x10", usual(), &[Action::Help, Action::Move(Motion::Down)], SMALL);
    check("confirm-80x24", usual(), &then(Action::Ask(Signal::Terminate)), USUAL);
    check("confirm-40x10", usual(), &then(Action::Ask(Signal::Kill)), SMALL);
}

#[test]
fn a_question_that_does_not_fit_cannot_be_answered() {
    for (width, height, answered) in
        [(80, 24, true), (40, 10, true), (30, 10, false), (80, 6, false)]
    {
        let mut state = state_of(usual());
        state.apply(Action::Ask(Signal::Terminate));
        screen(&mut state, UNICODE, width, height);
        assert_eq!(state.apply(Action::Confirm).is_some(), answered, "{width}x{height}");
    }
}

#[test]
fn in_ascii_nothing_is_missing() {
    let mut state = state_of(usual());
    state.apply(Action::Tree);
    let seen = screen(&mut state, ASCII, 80, 24);
    assert!(seen.is_ascii(), "{seen}");
    compare("ascii-80x24", &seen);
}

#[test]
fn trouble() {
    let mut state = State::new(None);
    compare("looking-80x24", &screen(&mut state, UNICODE, 80, 24));
    state.fail(
        "the driver does not answer; is the kernel module loaded? Try: nvidia-smi".to_owned(),
    );
    compare("trouble-80x24", &screen(&mut state, UNICODE, 80, 24));
}

#[test]
fn one_page() {
    let options = Options { interval: std::time::Duration::ZERO, device: None, look: ASCII };
    let mut with_note = usual();
    with_note.notes = vec![
        "Descriptors of other users' processes cannot be read: run as root to see them.".to_owned(),
    ];
    compare("once-80", &once(with_note, 80, options));
    let one = Options { device: Some(1), look: UNICODE, ..options };
    compare("once-device-100", &once(usual(), 100, one));
}
