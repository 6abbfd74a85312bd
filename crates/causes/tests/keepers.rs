//! What Python told of who keeps tensors, matched with a run that grew.

use whyoom_causes::{Figure, Referrer, Verdict, judge, name_referrers};
use whyoom_memory::Model;
use whyoom_trace::{
    Action, Address, Bytes, Counter, DeviceId, Event, EventSink, Origin, StackId, Tables, Time,
};

const MIB: u64 = 1 << 20;
const KEPT: u64 = 40;

/// A loop of process 41 that keeps 16 MiB a round, at multiples of 16 MiB, until memory runs out.
fn grown() -> (Model, Tables) {
    let mut tables = Tables::default();
    let process = tables.process("python train.py (PID 41)");
    let mut model = Model::default();
    let stack = |tables: &mut Tables, line| {
        let frame = tables.frame_text("main", "/home/me/train.py", line);
        tables.stack(&[frame])
    };
    let (passing, kept) = (stack(&mut tables, 11), stack(&mut tables, 12));
    let mut clock = 0;
    let mut push = |stack, action| {
        clock += 1000;
        let origin = Origin { process, device: DeviceId(0), ..Origin::default() };
        let event = Event { time: Time(clock), origin, stack, action, ..Event::default() };
        model.event(&event, &tables);
    };
    let block = |address, size| Action::BlockAlloc {
        address: Address(address),
        requested: Bytes(size),
        size: Bytes(size),
    };
    for round in 0..KEPT {
        push(passing, block(1 << 50, 8 * MIB));
        push(kept, block((round + 1) * 16 * MIB, 16 * MIB));
        push(StackId(0), Action::BlockFree { address: Address(1 << 50) });
    }
    for (counter, bytes) in [(Counter::DeviceTotal, 700 * MIB), (Counter::DeviceFree, 0)] {
        push(StackId(0), Action::Sample { counter, bytes: Bytes(bytes) });
    }
    push(passing, Action::OutOfMemory { requested: Bytes(32 * MIB) });
    (model, tables)
}

fn referrer(kind: &str, name: &str, rounds: std::ops::Range<u64>) -> Referrer {
    let block = |round| (Address((round + 1) * 16 * MIB), Bytes(16 * MIB));
    Referrer {
        pid: 41,
        kind: kind.to_owned(),
        name: name.to_owned(),
        function: Some("main".to_owned()),
        file: Some("/home/me/train.py".to_owned()),
        line: Some(12),
        graph: false,
        blocks: rounds.map(block).collect(),
    }
}

fn judged(referrers: &[Referrer]) -> Verdict {
    let (model, tables) = grown();
    let mut verdict = judge(&model, &tables);
    assert_eq!(verdict.primary.cause, "growth", "{verdict:#?}");
    name_referrers(&mut verdict, &model, &tables, referrers);
    verdict
}

fn pasted(verdict: &Verdict) -> Vec<&str> {
    verdict.primary.remedies.iter().filter_map(|remedy| remedy.code()).collect()
}

fn told(verdict: &Verdict) -> Vec<String> {
    let kept = verdict.primary.evidence.iter().filter(|one| one.label.starts_with("kept by"));
    kept.filter_map(|evidence| match &evidence.figure {
        Figure::Text(text) => Some(format!("{}: {text}", evidence.label)),
        _ => None,
    })
    .collect()
}

#[test]
fn a_list_is_named_with_what_it_keeps_and_its_remedy_comes_first() {
    let verdict = judged(&[referrer("variable", "y", 39..40), referrer("list", "outputs", 0..39)]);
    let lines = told(&verdict);
    let expected = "kept by the list \"outputs\" of main (train.py:12): 39 tensors, 624.00 MiB";
    assert_eq!(lines[0], expected);
    assert_eq!(pasted(&verdict), ["outputs.append(y.detach().cpu())"]);
    assert!(verdict.primary.remedies[0].what.contains("\"outputs\""));
}

#[test]
fn exceptions_and_sums_have_remedies_of_their_own() {
    let verdict = judged(&[referrer("traceback", "failures", 0..40)]);
    assert!(told(&verdict)[0].starts_with("kept by exceptions in \"failures\""));
    assert_eq!(pasted(&verdict), ["errors.append(str(error))"]);
    let graph = Referrer { graph: true, ..referrer("variable", "total", 0..40) };
    let verdict = judged(&[graph]);
    assert!(told(&verdict)[0].starts_with("kept by the graph behind the variable \"total\""));
    assert_eq!(pasted(&verdict), ["total += loss.item()"]);
}

#[test]
fn what_lies_elsewhere_or_is_another_processs_is_not_claimed() {
    let other = Referrer { pid: 42, ..referrer("list", "outputs", 0..40) };
    let elsewhere = referrer("list", "outputs", 1000..1040);
    for referrers in [vec![], vec![other], vec![elsewhere]] {
        let verdict = judged(&referrers);
        assert!(told(&verdict).is_empty());
        assert!(!pasted(&verdict).is_empty());
    }
}
