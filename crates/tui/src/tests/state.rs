//! The state as pure functions.

use super::made::{NOW, device, eight, holder, many, report, usual};
use crate::state::{Action, Drawn, Effect, Mode, Motion, Order, Signal, State};

fn state_of(report: whyoom_node::NodeReport) -> State {
    let mut state = State::new(None);
    state.update(report);
    state
}

fn pids(state: &State) -> Vec<u32> {
    state.rows().iter().map(|row| state.entry(row).unwrap().holder.pid).collect()
}

fn selected(state: &State) -> (u32, u32) {
    let entry = state.selected_entry().unwrap();
    (entry.device.device.index, entry.holder.pid)
}

#[test]
fn the_selection_follows_the_process() {
    let mut state = state_of(usual());
    state.apply(Action::Move(Motion::Down));
    assert_eq!(selected(&state), (1, 7001));
    let mut changed = usual();
    changed.devices[1].holders[0].bytes = Some(1);
    changed.devices[0].holders.push(holder(5, 70, "eve", "new"));
    state.update(changed);
    assert_eq!(selected(&state), (1, 7001));
    assert_eq!(state.selected(), Some(5));
}

#[test]
fn the_selection_finds_the_process_on_another_device() {
    let mut state = state_of(usual());
    state.apply(Action::Move(Motion::Down));
    let mut changed = usual();
    changed.devices[1].holders.clear();
    state.update(changed);
    assert_eq!(selected(&state), (0, 7001));
}

#[test]
fn the_selection_stays_in_place_when_the_process_has_gone() {
    let mut state = state_of(many());
    state.apply(Action::Move(Motion::Last));
    assert_eq!(selected(&state), (0, 2059));
    let mut fewer = many();
    fewer.devices[0].holders.truncate(10);
    state.update(fewer);
    assert_eq!(state.selected(), Some(9));
    state.update(report(Vec::new()));
    assert_eq!(state.selected(), None);
}

#[test]
fn a_number_that_is_used_again_is_not_the_selected_process() {
    let mut state = state_of(usual());
    state.apply(Action::Ask(Signal::Terminate));
    let mut changed = usual();
    for device in &mut changed.devices {
        for holder in device.holders.iter_mut().filter(|holder| holder.pid == 7001) {
            holder.started = Some(NOW);
        }
    }
    state.update(changed);
    assert_eq!(state.mode, Mode::Table);
    assert!(state.message.as_ref().unwrap().contains("nothing was sent"));
}

#[test]
fn orders() {
    let mut state = state_of(usual());
    assert_eq!(pids(&state), [7001, 7001, 4242, 7000, 7002]);
    state.arrangement.order = Order::Pid;
    state.apply(Action::Reverse);
    assert_eq!(pids(&state), [7002, 7001, 7001, 7000, 4242]);
    state.apply(Action::Reverse);
    state.apply(Action::NextOrder);
    assert_eq!(state.arrangement.order, Order::User);
    assert_eq!(pids(&state)[0], 4242);
    state.apply(Action::PreviousOrder);
    state.apply(Action::PreviousOrder);
    assert_eq!(state.arrangement.order, Order::Device);
    assert_eq!(pids(&state), [4242, 7000, 7001, 7001, 7002]);
    state.arrangement.order = Order::State;
    state.apply(Action::AllDevices);
    assert_eq!(pids(&state)[..2], [7002, 4242]);
}

#[test]
fn the_filter_wants_every_word() {
    let mut state = state_of(usual());
    state.apply(Action::Filter);
    for letter in "BOB train".chars() {
        state.apply(Action::Type(letter));
    }
    assert_eq!(pids(&state), [7001, 7001]);
    for _ in 0..6 {
        state.apply(Action::Erase);
    }
    assert_eq!(pids(&state).len(), 4);
    state.apply(Action::Back);
    assert_eq!((pids(&state).len(), state.mode.clone()), (5, Mode::Table));
    for (word, found) in [("stuck", 7002), ("slurm", 7000), ("4242", 4242), ("enginecor", 4242)] {
        state.arrangement.filter = word.to_owned();
        state.apply(Action::AllDevices);
        assert_eq!(pids(&state), [found], "{word}");
    }
}

#[test]
fn children_stand_below_their_parents() {
    let mut state = state_of(usual());
    state.apply(Action::Tree);
    let tree: Vec<_> = state.rows().iter().map(|row| row.branch.len()).collect();
    assert_eq!(pids(&state), [4242, 7000, 7001, 7001, 7002]);
    assert_eq!(tree, [0, 0, 1, 1, 2]);
}

#[test]
fn circles_of_parents_lose_nobody() {
    let mut circle = usual();
    circle.devices[0].holders[2].parent = Some(7002);
    let mut state = state_of(circle);
    state.apply(Action::Tree);
    let mut found = pids(&state);
    found.sort_unstable();
    assert_eq!(found, [4242, 7000, 7001, 7001, 7002]);
}

#[test]
fn devices_in_turn() {
    let mut state = state_of(usual());
    let chosen = |state: &State| state.arrangement.device;
    for expected in [Some(0), Some(1), None, Some(0)] {
        state.apply(Action::NextDevice);
        assert_eq!(chosen(&state), expected);
    }
    state.apply(Action::PreviousDevice);
    assert_eq!(chosen(&state), None);
    state.apply(Action::Device(1));
    assert_eq!(pids(&state), [7001, 7002]);
    state.apply(Action::Device(8));
    assert_eq!(chosen(&state), Some(1));
    assert!(state.message.is_some());
}

#[test]
fn nothing_is_sent_without_a_yes_to_a_question_that_was_shown() {
    let mut state = state_of(usual());
    assert_eq!(state.apply(Action::Confirm), None);
    state.apply(Action::Ask(Signal::Terminate));
    assert_eq!(state.apply(Action::Confirm), None, "it was not drawn yet");
    state.drawn(Drawn { page: 9, hidden_lines: 0, question_is_whole: true });
    state.apply(Action::Back);
    assert_eq!(state.apply(Action::Confirm), None, "the answer was no");
    state.apply(Action::Ask(Signal::Terminate));
    state.drawn(Drawn { page: 9, hidden_lines: 0, question_is_whole: true });
    state.apply(Action::NextSignal);
    state.apply(Action::NextSignal);
    let Some(Effect::Send(target, signal)) = state.apply(Action::Confirm) else {
        panic!("not sent")
    };
    assert_eq!((target.pid, target.holds.len(), signal), (7001, 2, Signal::Kill));
    assert_eq!(state.mode, Mode::Table);
}

#[test]
fn no_question_about_whom_no_signal_can_reach_surely() {
    let mut ghost = holder(66, 1, "?", "?");
    ghost.origin = whyoom_node::Origin::Ghost;
    let mut unknown = holder(67, 2, "?", "?");
    unknown.started = None;
    let mut state = state_of(report(vec![device(0, vec![unknown, ghost])]));
    for _ in 0..2 {
        state.apply(Action::Ask(Signal::Terminate));
        assert_eq!(state.mode, Mode::Table);
        assert!(state.message.is_some());
        state.apply(Action::Move(Motion::Down));
    }
}

#[test]
fn while_paused_nothing_changes_unless_asked() {
    let mut state = state_of(usual());
    assert_eq!(state.apply(Action::Pause), Some(Effect::Pause(true)));
    state.update(eight());
    assert_eq!(state.report().unwrap().devices.len(), 2);
    assert_eq!(state.apply(Action::Refresh), Some(Effect::Theme));
    state.update(eight());
    assert_eq!(state.report().unwrap().devices.len(), 8);
}

#[test]
fn a_failed_look_keeps_what_was_seen() {
    let mut state = state_of(usual());
    state.fail("the driver does not answer".to_owned());
    assert_eq!(pids(&state).len(), 5);
    state.update(usual());
    assert_eq!(state.trouble, None);
}

#[test]
fn details_of_a_process_that_has_gone_close() {
    let mut state = state_of(usual());
    state.apply(Action::Details);
    state.update(eight());
    assert_eq!(state.mode, Mode::Table);
    assert!(state.message.as_ref().unwrap().contains("7001"));
}
