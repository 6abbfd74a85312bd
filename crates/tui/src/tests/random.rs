//! Random keys and random reports at random sizes: nothing panics, nothing is sent unasked.

use proptest::prelude::*;
use ratatui::{
    buffer::Buffer,
    crossterm::event::{KeyCode, KeyEvent, KeyModifiers},
    layout::Rect,
};
use whyoom_node::{DeviceReport, Holder, NodeReport, Origin, Orphan, State as Alive, Workload};

use super::made::{device, holder, suspicion};
use crate::{
    keys,
    once::once,
    run::Options,
    state::{Effect, Mode, State},
    theme::Theme,
    views,
};

/// What can happen.
#[derive(Debug, Clone)]
enum Step {
    Key(KeyEvent),
    Report(NodeReport),
    Failure,
    Size(u16, u16),
}

fn holders() -> impl Strategy<Value = Holder> {
    let origin =
        prop_oneof![Just(Origin::Listed), Just(Origin::Ghost), Just(Origin::HasDeviceOpen)];
    let states =
        [Alive::Ordinary, Alive::Stopped, Alive::Stuck, Alive::ZombieLeader, Alive::Zombie];
    let workload = "\\PC{0,8}".prop_map(|uid| Workload::Pod { uid, container: None });
    // Few numbers, so that parents, children and circles occur.
    let numbers =
        (0..12_u32, proptest::option::of(0..12_u32), any::<Option<u64>>(), any::<Option<u64>>());
    let facts = (
        origin,
        proptest::option::of(proptest::sample::select(states.to_vec())),
        proptest::option::of(workload),
        any::<Option<bool>>(),
    );
    (numbers, facts, proptest::option::of(".{0,40}"), proptest::option::of(".{0,12}")).prop_map(
        |((pid, parent, bytes, started), (origin, state, workload, own), command, user)| Holder {
            bytes,
            origin,
            started,
            user: user.clone(),
            command,
            name: user,
            parent,
            state,
            workload,
            orphan: own.map(|own| Orphan { own }),
            ..holder(pid, 0, "", "")
        },
    )
}

fn devices() -> impl Strategy<Value = DeviceReport> {
    let memory = (any::<u64>(), any::<u64>(), any::<u64>());
    let sensors = (any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u32>>());
    let holders = proptest::collection::vec(holders(), 0..20);
    (any::<u32>(), ".{0,40}", memory, sensors, holders, 0..3_usize).prop_map(
        |(index, name, (total, free, used), (busy, warmth, power), holders, doubts)| {
            let mut report = device(index, Vec::new());
            report.device.name = name;
            report.device.memory = whyoom_gpu::Memory { total, free, used, reserved: None };
            report.device.utilization = busy.map(|gpu| whyoom_gpu::Utilization { gpu, memory: 0 });
            report.device.temperature = warmth;
            report.device.power_milliwatts = power;
            report.holders = holders;
            report.suspicions = vec![suspicion(); doubts];
            report
        },
    )
}

fn reports() -> impl Strategy<Value = NodeReport> {
    let notes = proptest::collection::vec(".{0,60}", 0..3);
    (any::<u64>(), proptest::collection::vec(devices(), 0..10), notes)
        .prop_map(|(time, devices, notes)| NodeReport { time, devices, notes })
}

fn keys_pressed() -> impl Strategy<Value = KeyEvent> {
    use KeyCode::{BackTab, Backspace, Char, Down, End, Enter, Esc, Home, Left, PageDown};
    use KeyCode::{PageUp, Right, Tab, Up};
    let named = vec![
        BackTab, Backspace, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up,
    ];
    let meant: Vec<char> = "wk/tTIK<>R0123 rh?yn".chars().collect();
    let code = prop_oneof![
        proptest::sample::select(named),
        proptest::sample::select(meant).prop_map(Char),
        any::<char>().prop_map(Char),
        (0..13_u8).prop_map(KeyCode::F),
    ];
    let modifier = prop_oneof![
        9 => Just(KeyModifiers::NONE),
        1 => Just(KeyModifiers::CONTROL),
    ];
    (code, modifier).prop_map(|(code, modifiers)| KeyEvent::new(code, modifiers))
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => keys_pressed().prop_map(Step::Key),
        4 => reports().prop_map(Step::Report),
        1 => Just(Step::Failure),
        2 => (0..140_u16, 0..50_u16).prop_map(|(width, height)| Step::Size(width, height)),
    ]
}

fn press(state: &mut State, key: KeyEvent) {
    let before = state.mode.clone();
    let effect = keys::action(&state.mode, key).and_then(|action| state.apply(action));
    if let Some(Effect::Send(target, signal)) = effect {
        let Mode::Confirm(question) = before else { panic!("sent without a question") };
        assert_eq!((question.target, question.signal), (target, signal));
        assert_eq!(key.code, KeyCode::Char('y'));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(steps in proptest::collection::vec(steps(), 1..40), unicode: bool) {
        let look = Theme { colour: unicode, unicode };
        let mut state = State::new(None);
        let mut area = Rect::new(0, 0, 80, 24);
        for step in steps {
            match step {
                Step::Key(key) => press(&mut state, key),
                Step::Report(report) => state.update(report),
                Step::Failure => state.fail("no answer".to_owned()),
                Step::Size(width, height) => area = Rect::new(0, 0, width, height),
            }
            let mut buffer = Buffer::empty(area);
            let drawn = views::draw(&state, look, area, &mut buffer);
            state.drawn(drawn);
            prop_assert!(state.selected().is_none_or(|place| place < state.rows().len()));
        }
    }

    #[test]
    fn a_page_is_no_wider_than_asked(report in reports(), width in 60..200_usize) {
        let look = Theme { colour: false, unicode: true };
        let options = Options { interval: std::time::Duration::ZERO, device: None, look };
        for line in once(report, width, options).lines() {
            prop_assert!(crate::fitting::width(line) <= width, "{line}");
        }
    }
}
