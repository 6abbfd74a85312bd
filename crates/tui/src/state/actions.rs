//! What can be done, and what it changes.

use super::{Confirmation, Mode, Signal, State, Target};

/// Something that a person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Quit,
    /// Leaves what lies over the table; in the table, forgets the filter.
    Back,
    Help,
    Details,
    Findings,
    Move(Motion),
    NextOrder,
    PreviousOrder,
    Reverse,
    Tree,
    NextDevice,
    PreviousDevice,
    /// The device at this place.
    Device(usize),
    AllDevices,
    Filter,
    Type(char),
    Erase,
    EraseAll,
    /// Keeps the filter that was typed.
    Accept,
    Ask(Signal),
    NextSignal,
    PreviousSignal,
    /// Yes, send it.
    Confirm,
    Pause,
    Refresh,
    Redraw,
    /// Back to the shell, until it brings this to the front again.
    Suspend,
}

/// A way to move through rows or lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Motion {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
}

/// Something that the state cannot do by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    Quit,
    /// Sample the devices now.
    Theme,
    /// Stop looking, or look again.
    Pause(bool),
    /// Draw every cell anew: something else wrote on the screen.
    Redraw,
    Suspend,
    Send(Target, Signal),
}

impl State {
    /// Does what is wanted; what is left to do outside comes back.
    pub(crate) fn apply(&mut self, action: Action) -> Option<Effect> {
        self.message = None;
        match action {
            Action::Quit => return Some(Effect::Quit),
            Action::Refresh => {
                self.awaiting = true;
                return Some(Effect::Theme);
            }
            Action::Redraw => return Some(Effect::Redraw),
            Action::Suspend => return Some(Effect::Suspend),
            Action::Confirm => return self.answer(),
            Action::Pause => {
                self.paused = !self.paused;
                return Some(Effect::Pause(self.paused));
            }
            Action::Back => self.back(),
            Action::Help => self.open(Mode::Help),
            Action::Findings => self.open(Mode::Findings),
            Action::Details if self.selection.is_some() => self.open(Mode::Details),
            Action::Details => {}
            Action::Filter => self.open(Mode::Filter),
            Action::Accept => self.mode = Mode::Table,
            Action::Ask(signal) => self.ask(signal),
            Action::NextSignal => self.step_signal(true),
            Action::PreviousSignal => self.step_signal(false),
            Action::Move(motion) => self.go(motion),
            _ => {
                self.rearrange(action);
                self.arrange();
            }
        }
        None
    }

    /// What changes which rows there are, and their order.
    fn rearrange(&mut self, action: Action) {
        let arrangement = &mut self.arrangement;
        match action {
            Action::NextOrder => arrangement.order = arrangement.order.next(),
            Action::PreviousOrder => arrangement.order = arrangement.order.previous(),
            Action::Reverse => arrangement.reversed = !arrangement.reversed,
            Action::Tree => arrangement.tree = !arrangement.tree,
            Action::Type(letter) => arrangement.filter.push(letter),
            Action::EraseAll => arrangement.filter.clear(),
            Action::Erase => {
                arrangement.filter.pop();
            }
            Action::AllDevices => arrangement.device = None,
            Action::Device(place) => self.choose_device(Some(place)),
            Action::NextDevice => self.step_device(true),
            Action::PreviousDevice => self.step_device(false),
            _ => {}
        }
    }

    fn open(&mut self, mode: Mode) {
        self.scroll = 0;
        // The same key opens and closes.
        self.mode = if self.mode == mode { Mode::Table } else { mode };
    }

    fn back(&mut self) {
        if matches!(self.mode, Mode::Table | Mode::Filter) {
            self.arrangement.filter.clear();
            self.arrange();
        }
        self.mode = Mode::Table;
    }

    fn ask(&mut self, signal: Signal) {
        let (Some(entry), Some(report)) = (self.selected_entry(), self.report()) else { return };
        match Target::of(&entry, report) {
            Ok(target) => {
                self.mode = Mode::Confirm(Confirmation { target, signal });
                // Not before it was drawn.
                self.drawn.question_is_whole = false;
            }
            Err(why) => self.message = Some(why),
        }
    }

    fn step_signal(&mut self, forward: bool) {
        if let Mode::Confirm(question) = &mut self.mode {
            question.signal = question.signal.step(forward);
        }
    }

    fn answer(&mut self) -> Option<Effect> {
        if !self.drawn.question_is_whole {
            return None;
        }
        match std::mem::take(&mut self.mode) {
            Mode::Confirm(question) => {
                self.awaiting = true;
                Some(Effect::Send(question.target, question.signal))
            }
            other => {
                self.mode = other;
                None
            }
        }
    }

    fn go(&mut self, motion: Motion) {
        let page = self.drawn.page.max(1);
        let (here, last) = match self.mode {
            Mode::Table | Mode::Filter => (self.selected, self.rows.len().saturating_sub(1)),
            _ => (self.scroll, self.drawn.hidden_lines),
        };
        let there = match motion {
            Motion::Up => here.saturating_sub(1),
            Motion::Down => here + 1,
            Motion::PageUp => here.saturating_sub(page),
            Motion::PageDown => here + page,
            Motion::First => 0,
            Motion::Last => last,
        };
        match self.mode {
            Mode::Table | Mode::Filter => self.select(there.min(last)),
            _ => self.scroll = there.min(last),
        }
    }

    /// All devices, then each of them, then all again.
    fn step_device(&mut self, forward: bool) {
        let Some(report) = &self.report else { return };
        let count = report.devices.len();
        let here = self.arrangement.device.and_then(|chosen| {
            report.devices.iter().position(|device| device.device.index == chosen)
        });
        let next = match (here, forward) {
            (None, true) => Some(0),
            (None, false) => count.checked_sub(1),
            (Some(place), true) => Some(place + 1),
            (Some(place), false) => place.checked_sub(1),
        };
        self.choose_device(next.filter(|place| *place < count));
    }

    fn choose_device(&mut self, place: Option<usize>) {
        let Some(report) = &self.report else { return };
        match place.map(|place| report.devices.get(place)) {
            None => self.arrangement.device = None,
            Some(Some(device)) => self.arrangement.device = Some(device.device.index),
            Some(None) => self.message = Some("there is no such device".to_owned()),
        }
    }
}
