//! What people and programs see of built reports, word for word.

use whyoom_gpu::{Device, Memory, ProcessKind, ProcessUse};

use super::{
    holders::{holder_state, recorded_line},
    *,
};
use crate::report::{Holder, Origin, Orphan, Recorded, RecordedPlace, State, Workload};

const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000_000;
const NOW: u64 = 1_800_000_000 * SECOND;

fn holder(pid: u32, gibibytes: u64, command: &str) -> Holder {
    Holder {
        pid,
        bytes: Some(gibibytes * GIB),
        origin: Origin::Listed,
        started: Some(NOW - 90 * SECOND),
        user: Some("alice".to_owned()),
        command: Some(command.to_owned()),
        name: Some("python".to_owned()),
        parent: Some(7),
        state: Some(State::Ordinary),
        workload: None,
        orphan: None,
        recorded: None,
    }
}

fn device(index: u32, residual: u64, holders: Vec<Holder>) -> DeviceReport {
    let listed = holders.iter().filter(|holder| holder.origin != Origin::HasDeviceOpen);
    let processes = listed.map(|holder| ProcessUse {
        pid: holder.pid,
        bytes: holder.bytes,
        kind: ProcessKind::Compute,
    });
    let used = residual + holders.iter().filter_map(|holder| holder.bytes).sum::<u64>();
    DeviceReport {
        device: Device {
            index,
            name: "NVIDIA L4 (simulated)".to_owned(),
            uuid: format!("GPU-{index}"),
            bus_id: format!("0000:0{index}:00.0"),
            memory: Memory { total: 24 * GIB, free: 24 * GIB - used, used, reserved: None },
            processes: Some(processes.collect()),
            ..Device::default()
        },
        holders,
        residual,
        suspicions: Vec::new(),
    }
}

fn suspicion(kind: SuspicionKind, gibibytes: u64, command: Option<&str>) -> Suspicion {
    Suspicion {
        kind,
        headline: "the answer".to_owned(),
        because: "the numbers.".to_owned(),
        bytes: Some(gibibytes * GIB),
        command: command.map(str::to_owned),
        pids: vec![42],
    }
}

fn node(devices: Vec<DeviceReport>) -> NodeReport {
    NodeReport { time: NOW, devices, notes: Vec::new() }
}

fn text_at(report: &NodeReport, width: usize) -> String {
    let mut out = Vec::new();
    let width = WhoWidth { words: width, table: width };
    write_who(report, width, &mut out).expect("memory can be written to");
    let text = String::from_utf8(out).expect("text");
    anstream::adapter::strip_str(&text).to_string()
}

fn text(report: &NodeReport) -> String {
    text_at(report, 100)
}

fn json(report: &NodeReport) -> serde_json::Value {
    let alert = WhoAlert { text: "free<2GiB".to_owned(), holds: false, devices: Vec::new() };
    let mut out = Vec::new();
    write_who_json(report, &[alert], &mut out).expect("memory can be written to");
    serde_json::from_slice(&out).expect("a document")
}

#[test]
fn health_is_one_line_and_the_table() {
    let mut other = holder(4343, 2, "/opt/venv/bin/python serve.py");
    other.user = Some("bob".to_owned());
    other.workload = Some(Workload::Slurm { job: "17".to_owned() });
    let mut device = device(0, GIB / 4, vec![holder(42, 8, "python train.py"), other]);
    device.device.memory.reserved = Some(GIB / 2);
    assert_eq!(
        text(&node(vec![device])),
        "\
GPU 0: 13.75 GiB of 24.00 GiB free; alice holds 8.00 GiB, bob 2.00 GiB.

Holders on NVIDIA L4 (simulated)
   PID  USER     MEMORY      AGE  STATE    WHERE         COMMAND
    42  alice  8.00 GiB  1.5 min  running                python train.py
  4343  bob    2.00 GiB  1.5 min  running  slurm job 17  python serve.py
  Also in use: 512.00 MiB reserved by the driver, 256.00 MiB that no listed process accounts for.
"
    );
}

#[test]
fn a_recorded_process_says_what_it_holds() {
    let mut recorded = holder(42, 8, "python train.py");
    let place = RecordedPlace { place: "train.py:7 (step)".to_owned(), bytes: GIB };
    recorded.recorded = Some(Recorded {
        folder: "/data/last-run".to_owned(),
        allocated: 6 * GIB,
        reserved: 7 * GIB,
        driver: 7 * GIB,
        events: 1234,
        places: vec![place],
    });
    let report = node(vec![device(0, 0, vec![recorded])]);
    let line = "    recorded: 6.00 GiB allocated of 7.00 GiB reserved; whyoom why /data/last-run\n";
    assert!(text(&report).contains(line), "{}", text(&report));
    let told = &json(&report)["devices"][0]["holders"][0]["recorded"];
    assert_eq!(told["allocated_bytes"], 6 * GIB);
    assert_eq!(told["places"][0]["bytes"], GIB);
}

#[test]
fn a_recorded_folder_is_one_word_or_in_no_line() {
    let line = |folder: &str| {
        recorded_line(&Recorded {
            folder: folder.to_owned(),
            allocated: 0,
            reserved: 0,
            driver: GIB,
            events: 1,
            places: Vec::new(),
        })
    };
    let held = "recorded: 1.00 GiB allocated from the driver";
    assert_eq!(line("/tmp/r;id;#"), format!("{held}; whyoom why '/tmp/r;id;#'"));
    assert_eq!(line("-x"), format!("{held}; whyoom why ./-x"));
    for folder in ["/tmp/a\nb", "/tmp/\u{1b}[2J", "/tmp/\u{202e}x"] {
        assert_eq!(line(folder), held);
    }
}

#[test]
fn nobody_is_said_to_be_nobody() {
    assert_eq!(
        text(&node(vec![device(0, 0, vec![])])),
        "\
GPU 0: 24.00 GiB of 24.00 GiB free; no process holds memory.

  NVIDIA L4 (simulated): no process to list.
"
    );
    assert_eq!(text(&node(vec![])), "The driver works, but lists no GPU here.\n");
}

#[test]
fn a_user_called_nobody_is_a_user() {
    let of = |user: &str| Holder { user: Some(user.to_owned()), ..holder(42, 1, "python") };
    let said = text(&node(vec![device(0, 0, vec![of("nobody"), of("1001")])]));
    let expected = "GPU 0: 22.00 GiB of 24.00 GiB free; user nobody holds 1.00 GiB, user 1001 1.00";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn idle_devices_that_are_alike_are_one_line() {
    let idle = |index| device(index, 0, vec![]);
    assert_eq!(
        text(&node((0..8).map(idle).collect())),
        "GPU 0-7: idle, 24.00 GiB of 24.00 GiB free each (NVIDIA L4 (simulated)).\n"
    );
    let mut other_model = idle(5);
    other_model.device.name = "NVIDIA T4".to_owned();
    let mut busy = idle(6);
    busy.device.utilization = Some(whyoom_gpu::Utilization { gpu: 90, memory: 1 });
    let taken = device(1, 0, vec![holder(42, 1, "python")]);
    let text = text(&node(vec![idle(0), taken, idle(2), idle(3), other_model, busy, idle(7)]));
    let answers: Vec<&str> = text.lines().filter(|line| line.starts_with("GPU")).collect();
    assert_eq!(
        answers,
        [
            "GPU 0, 2-3, 7: idle, 24.00 GiB of 24.00 GiB free each (NVIDIA L4 (simulated)).",
            "GPU 1: 23.00 GiB of 24.00 GiB free; alice holds 1.00 GiB.",
            "GPU 5: 24.00 GiB of 24.00 GiB free; no process holds memory.",
            "GPU 6: 24.00 GiB of 24.00 GiB free; no process holds memory.",
        ]
    );
}

#[test]
fn an_orphan_comes_with_the_line_to_paste() {
    let mut orphan = holder(42, 8, "/usr/bin/python3 -m vllm serve");
    orphan.name = Some("VLLM::EngineCor".to_owned());
    orphan.orphan = Some(Orphan { own: true });
    let mut device = device(0, 0, vec![orphan]);
    device.suspicions.push(suspicion(SuspicionKind::Orphan, 8, Some("kill 42")));
    assert_eq!(
        text(&node(vec![device])),
        "\
GPU 0: 16.00 GiB of 24.00 GiB free; alice holds 8.00 GiB. Suspicious: orphan (8.00 GiB).

orphan: the answer
    The numbers.

  kill 42

Holders on NVIDIA L4 (simulated)
  PID  USER     MEMORY      AGE  STATE   COMMAND
   42  alice  8.00 GiB  1.5 min  orphan  VLLM::EngineCor (/usr/bin/python3 -m vllm serve)
"
    );
}

#[test]
fn a_ghost_has_only_its_number() {
    let ghost = Holder {
        origin: Origin::Ghost,
        started: None,
        user: None,
        command: None,
        name: None,
        parent: None,
        state: None,
        ..holder(42, 1, "")
    };
    let mut device = device(0, 0, vec![ghost]);
    device.suspicions.push(suspicion(SuspicionKind::Ghost, 1, None));
    let report = node(vec![device]);
    assert_eq!(
        text(&report),
        "\
GPU 0: 23.00 GiB of 24.00 GiB free; a process that is not visible holds 1.00 GiB. Suspicious:
ghost (1.00 GiB).

ghost: the answer
    The numbers.

Holders on NVIDIA L4 (simulated)
  PID    MEMORY  STATE        COMMAND
   42  1.00 GiB  not visible  -
"
    );
    assert_eq!(json(&report)["devices"][0]["holders"][0]["origin"], "ghost");
}

#[test]
fn hidden_memory_is_not_nobodys() {
    let mut device = device(0, 20 * GIB, vec![]);
    device.suspicions.push(suspicion(SuspicionKind::Hidden, 20, None));
    let mut report = node(vec![device]);
    report.notes.push("this is a container".to_owned());
    assert_eq!(
        text(&report),
        "\
GPU 0: 4.00 GiB of 24.00 GiB free; 20.00 GiB in use, and no process is listed. Suspicious:
hidden (20.00 GiB).

hidden: the answer
    The numbers.

  NVIDIA L4 (simulated): no process to list.
  In use: 20.00 GiB that no listed process accounts for.

Note: this is a container
"
    );
}

#[test]
fn states_have_words() {
    let with = |state, origin, orphan| {
        let own = Orphan { own: false };
        let orphan = if orphan { Some(own) } else { None };
        holder_state(&Holder { state: Some(state), origin, orphan, ..holder(1, 1, "a") })
    };
    assert_eq!(with(State::Stuck, Origin::Listed, false), "stuck");
    assert_eq!(with(State::ZombieLeader, Origin::Listed, true), "orphan, zombie leader");
    assert_eq!(with(State::Ordinary, Origin::HasDeviceOpen, false), "unlisted");
    assert_eq!(with(State::Stopped, Origin::Listed, false), "stopped");
}

#[test]
fn several_devices_follow_each_other() {
    let mut third = device(2, 0, vec![]);
    third.suspicions.push(suspicion(SuspicionKind::LostCapacity, 1, None));
    let mut first = device(0, 0, vec![holder(42, 1, "python")]);
    first.suspicions.push(suspicion(SuspicionKind::Stuck, 1, None));
    first.suspicions.push(suspicion(SuspicionKind::ZombieLeader, 2, None));
    first.suspicions.push(suspicion(SuspicionKind::Stuck, 1, None));
    let text = text(&node(vec![first, device(1, 0, vec![]), third]));
    let verdicts: Vec<&str> = text.lines().filter(|line| line.starts_with("GPU")).collect();
    assert_eq!(
        verdicts,
        [
            "GPU 0: 23.00 GiB of 24.00 GiB free; alice holds 1.00 GiB. Suspicious: stuck (2.00 GiB),",
            "GPU 1: 24.00 GiB of 24.00 GiB free; no process holds memory.",
            "GPU 2: 24.00 GiB of 24.00 GiB free; no process holds memory. Also: lost-capacity (1.00 \
             GiB).",
        ]
    );
}

#[test]
fn a_narrow_terminal_keeps_the_command() {
    let mut busy = holder(42, 8, "python train.py --config experiments/long/name.yaml");
    busy.workload = Some(Workload::Container { id: "0123456789abcdef".to_owned() });
    let report = node(vec![device(0, 0, vec![busy])]);
    let last = |width| text_at(&report, width).lines().last().unwrap_or_default().to_owned();
    assert_eq!(
        last(90),
        "   42  alice  8.00 GiB  1.5 min  running  container 0123456789ab  python train.py --confi…"
    );
    assert_eq!(last(60), "   42  alice  8.00 GiB  running  python train.py --config e…");
    // The command has a line of its own where there is no room beside the others.
    assert_eq!(last(20), "    python train.py…");
}

#[test]
fn many_holders_are_summed_up() {
    let report = node(vec![device(0, 0, (1..=23).map(|pid| holder(pid, 1, "a")).collect())]);
    let text = text(&report);
    assert!(text.ends_with("  … and 3 more with 3.00 GiB (all of them: --json)\n"), "{text}");
    assert_eq!(json(&report)["devices"][0]["holders"].as_array().map(Vec::len), Some(23));
}

#[test]
fn json_has_its_keys() {
    let mut orphan = holder(42, 8, "python");
    orphan.orphan = Some(Orphan { own: true });
    orphan.workload = Some(Workload::Pod { uid: "u".to_owned(), container: None });
    let mut device = device(0, 0, vec![orphan]);
    device.suspicions.push(suspicion(SuspicionKind::Orphan, 8, Some("kill 42")));
    let json = json(&node(vec![device]));
    assert_eq!(json["schema"], "whyoom.who");
    assert_eq!(json["version"], 1);
    assert_eq!(json["alerts"][0]["holds"], false);
    let device = &json["devices"][0];
    assert_eq!(device["used_bytes"], 8 * GIB);
    assert_eq!(device["reserved_bytes"], serde_json::Value::Null);
    assert_eq!(device["suspicions"][0]["kind"], "orphan");
    assert_eq!(device["suspicions"][0]["command"], "kill 42");
    let holder = &device["holders"][0];
    assert_eq!((&holder["bytes"], &holder["own_orphan"]), (&(8 * GIB).into(), &true.into()));
    assert_eq!(holder["workload"]["kind"], "pod");
}

/// The words that the table prints for kinds are those that the contract serialises.
#[test]
fn kinds_have_one_name() {
    use SuspicionKind::*;
    let all = [
        Orphan,
        ZombieLeader,
        Stuck,
        Ghost,
        Hidden,
        MpsServer,
        Unlisted,
        OtherTenant,
        LostCapacity,
        Residual,
    ];
    for kind in all {
        assert_eq!(serde_json::to_value(kind).expect("a word"), kind_name(kind));
    }
}

#[test]
fn changes_are_told_and_nothing_else() {
    let before = node(vec![device(0, 0, vec![holder(1, 1, "a"), holder(2, 2, "b")])]);
    assert_eq!(who_changes(&before, &before), Vec::<String>::new());

    let mut now = node(vec![device(0, 0, vec![holder(2, 3, "b"), holder(3, 4, "c")])]);
    now.devices[0].suspicions.push(suspicion(SuspicionKind::Ghost, 1, None));
    assert_eq!(
        who_changes(&before, &now),
        [
            "GPU 0: 17.00 GiB of 24.00 GiB free; process 2 (alice: python (b)) allocated 1.00 GiB \
             more and holds 3.00 GiB",
            "GPU 0: 17.00 GiB of 24.00 GiB free; process 3 (alice: python (c)) appeared with 4.00 \
             GiB",
            "GPU 0: 17.00 GiB of 24.00 GiB free; process 1 (alice: python (a)) disappeared with \
             1.00 GiB",
            "GPU 0: 17.00 GiB of 24.00 GiB free; ghost: the answer",
        ]
    );
    let silent = node(vec![device(0, GIB, vec![holder(1, 1, "a"), holder(2, 2, "b")])]);
    assert_eq!(
        who_changes(&before, &silent),
        [
            "GPU 0: 20.00 GiB of 24.00 GiB free; previously 21.00 GiB free; no listed process changed"
        ]
    );
}
