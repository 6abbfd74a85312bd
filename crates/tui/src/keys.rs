//! Keys and what they mean: those that users of nvitop and htop expect.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::state::{Action, Mode, Motion, Signal};

/// Keys of the table that do the same.
pub(crate) struct Binding {
    keys: &'static [KeyCode],
    action: Action,
    /// The keys, as the help writes them.
    pub(crate) shown: &'static str,
    /// What they do, as the help writes it.
    pub(crate) about: &'static str,
}

const fn binding(
    keys: &'static [KeyCode],
    action: Action,
    shown: &'static str,
    about: &'static str,
) -> Binding {
    Binding { keys, action, shown, about }
}

use KeyCode::{BackTab, Char, Down, End, Enter, Esc, F, Home, PageDown, PageUp, Tab, Up};

/// The keys of the table, in the order of the help. The others are those of what lies over it.
pub(crate) const BINDINGS: &[Binding] = &[
    binding(&[Up], Action::Move(Motion::Up), "Up Down", "select a process"),
    binding(&[Down], Action::Move(Motion::Down), "", ""),
    binding(&[PageUp], Action::Move(Motion::PageUp), "PgUp PgDn", "a page at a time"),
    binding(&[PageDown], Action::Move(Motion::PageDown), "", ""),
    binding(&[Home], Action::Move(Motion::First), "Home End", "the first, the last"),
    binding(&[End], Action::Move(Motion::Last), "", ""),
    binding(&[Enter], Action::Details, "Enter", "details of the process"),
    binding(&[Char('w')], Action::Findings, "w", "why it is suspicious"),
    binding(&[Char('/'), F(3), F(4)], Action::Filter, "/ F3 F4", "filter by words"),
    binding(&[Char('t'), F(5)], Action::Tree, "t F5", "tree of parents and children"),
    binding(&[Char('>'), Char('.'), F(6)], Action::NextOrder, "> F6", "sort by the next column"),
    binding(&[Char('<'), Char(',')], Action::PreviousOrder, "<", "sort by the previous column"),
    binding(&[Char('R')], Action::Reverse, "R", "reverse the order"),
    binding(&[Tab], Action::NextDevice, "Tab", "next device only, then all"),
    binding(&[BackTab], Action::PreviousDevice, "", ""),
    binding(&[Char('0')], Action::AllDevices, "1-9, 0", "the first to ninth device, all"),
    binding(&[Char('k'), F(9)], Action::Ask(Signal::Terminate), "k F9 T", "send TERM; asks first"),
    binding(&[Char('T')], Action::Ask(Signal::Terminate), "", ""),
    binding(&[Char('I')], Action::Ask(Signal::Interrupt), "I", "send INT; asks first"),
    binding(&[Char('K')], Action::Ask(Signal::Kill), "K", "send KILL; asks first"),
    binding(&[Char(' ')], Action::Pause, "Space", "pause, resume"),
    binding(&[Char('r')], Action::Refresh, "r ^L", "refresh now"),
    binding(&[Char('?'), Char('h'), F(1)], Action::Help, "? h F1", "this help"),
    binding(&[Esc], Action::Back, "Esc", "back; clear the filter"),
    binding(&[Char('q'), F(10)], Action::Quit, "q F10 ^C", "quit; ^Z: suspend to the shell"),
];

/// What a key means where one is.
pub(crate) fn action(mode: &Mode, key: KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return with_control(mode, key.code);
    }
    match mode {
        Mode::Table => in_table(key.code),
        Mode::Filter => in_filter(key.code),
        Mode::Confirm(_) => in_question(key.code),
        Mode::Details | Mode::Findings | Mode::Help => in_text(mode, key.code),
    }
}

fn with_control(mode: &Mode, code: KeyCode) -> Option<Action> {
    match code {
        Char('c') => Some(Action::Quit),
        Char('l') => Some(Action::Redraw),
        Char('z') => Some(Action::Suspend),
        Char('u') if *mode == Mode::Filter => Some(Action::EraseAll),
        // Terminals send it for Backspace.
        Char('h') if *mode == Mode::Filter => Some(Action::Erase),
        _ => None,
    }
}

fn in_table(code: KeyCode) -> Option<Action> {
    if let Char(digit @ '1'..='9') = code {
        return digit.to_digit(10).map(|place| Action::Device(place as usize - 1));
    }
    let binding = BINDINGS.iter().find(|binding| binding.keys.contains(&code))?;
    Some(binding.action)
}

fn in_filter(code: KeyCode) -> Option<Action> {
    match code {
        Char(letter) => Some(Action::Type(letter)),
        KeyCode::Backspace => Some(Action::Erase),
        Enter => Some(Action::Accept),
        Esc => Some(Action::Back),
        Up | Down | PageUp | PageDown => in_table(code),
        _ => None,
    }
}

/// Only one key means yes; Enter, which opened the details, does not.
fn in_question(code: KeyCode) -> Option<Action> {
    match code {
        Char('y') => Some(Action::Confirm),
        Char('n' | 'q') | Esc => Some(Action::Back),
        KeyCode::Right | Tab => Some(Action::NextSignal),
        KeyCode::Left | BackTab => Some(Action::PreviousSignal),
        _ => None,
    }
}

fn in_text(mode: &Mode, code: KeyCode) -> Option<Action> {
    match code {
        Char('q') | Esc => return Some(Action::Back),
        Enter if *mode != Mode::Details => return Some(Action::Back),
        _ => {}
    }
    in_table(code).filter(|action| match action {
        Action::Ask(_) => *mode == Mode::Details,
        Action::Move(_) | Action::Help | Action::Details | Action::Findings => true,
        Action::Pause | Action::Refresh | Action::Quit => true,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn pressed(mode: &Mode, code: KeyCode) -> Option<Action> {
        action(mode, KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn no_key_means_two_things() {
        let keys: Vec<_> = BINDINGS.iter().flat_map(|binding| binding.keys).collect();
        let different: HashSet<_> = keys.iter().collect();
        assert_eq!(keys.len(), different.len());
    }

    #[test]
    fn what_users_of_htop_and_nvitop_press() {
        let expected = [
            (Char('q'), Action::Quit),
            (F(10), Action::Quit),
            (F(1), Action::Help),
            (F(5), Action::Tree),
            (F(6), Action::NextOrder),
            (F(9), Action::Ask(Signal::Terminate)),
            (Char('T'), Action::Ask(Signal::Terminate)),
            (Char('I'), Action::Ask(Signal::Interrupt)),
            (Char('K'), Action::Ask(Signal::Kill)),
            (Char('1'), Action::Device(0)),
            (Char('9'), Action::Device(8)),
        ];
        for (code, meant) in expected {
            assert_eq!(pressed(&Mode::Table, code), Some(meant), "{code:?}");
        }
    }

    #[test]
    fn letters_are_letters_while_the_filter_is_typed() {
        for letter in "qkTy?1 ".chars() {
            assert_eq!(pressed(&Mode::Filter, Char(letter)), Some(Action::Type(letter)));
        }
    }

    #[test]
    fn control_c_quits_wherever_one_is() {
        for mode in [Mode::Table, Mode::Filter, Mode::Details, Mode::Findings, Mode::Help] {
            let key = KeyEvent::new(Char('c'), KeyModifiers::CONTROL);
            assert_eq!(action(&mode, key), Some(Action::Quit));
            assert_ne!(pressed(&mode, Char('y')), Some(Action::Confirm));
        }
    }
}
