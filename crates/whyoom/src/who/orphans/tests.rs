use std::process::{Child, Command};

use whyoom_node::{Holder, Orphan};

use super::*;
use crate::who::built::{device, node, orphan};

fn child() -> Child {
    Command::new("sleep").arg("60").spawn().expect("sleep is everywhere")
}

/// Runs it, with what each look shows; the last one again and again. All processes use a GPU.
fn run_with(reports: &[NodeReport]) -> (u8, String) {
    run_as(false, |_| true, reports)
}

fn run_as(is_root: bool, uses_gpu: fn(u32) -> bool, reports: &[NodeReport]) -> (u8, String) {
    let mut looks = 0;
    let look = || {
        looks += 1;
        Ok(reports[(looks - 1).min(reports.len() - 1)].clone())
    };
    let mut out = Vec::new();
    let caller = Caller { uses_gpu, is_root };
    let code = super::run_with(look, caller, None, true, &mut out).expect("every look succeeds");
    (code, String::from_utf8(out).expect("text"))
}

fn report(holders: Vec<Holder>) -> NodeReport {
    node(vec![device(0, 0, holders)])
}

#[test]
fn it_ends_an_orphan_and_shows_what_came_back() {
    let mut child = child();
    let pid = child.id();
    let held = report(vec![orphan(pid, 2)]);
    let (code, text) = run_with(&[held.clone(), held, report(vec![])]);
    assert_eq!(
        text,
        format!(
            "\
This process would receive SIGTERM, and no other:

  {pid}  alice  2.00 GiB  started 3.0 s ago
      python train.py

    It was reparented to process 1.

Process {pid} has exited.
GPU 0: 2.00 GiB freed; 24.00 GiB free now, 22.00 GiB before.
"
        )
    );
    assert_eq!(code, ANSWERED);
    child.wait().expect("it is ours");
}

#[test]
fn a_number_that_is_used_again_is_not_hit() {
    let mut child = child();
    let shown = orphan(child.id(), 2);
    let mut later = shown.clone();
    later.started = later.started.map(|started| started + 1);
    let (code, text) = run_with(&[report(vec![shown]), report(vec![later])]);
    assert!(text.contains("no longer the orphan shown above"), "{text}");
    assert_eq!(code, FAILED);
    assert_eq!(child.try_wait().expect("it is ours"), None, "it lives");
    child.kill().expect("it lives");
    child.wait().expect("it is ours");
}

#[test]
fn what_uses_no_gpu_is_not_hit() {
    let mut child = child();
    let held = report(vec![orphan(child.id(), 2)]);
    let (code, text) = run_as(false, uses::uses_gpu, &[held]);
    assert!(text.contains("is left alone"), "{text}");
    assert_eq!((code, child.try_wait().expect("it is ours")), (ANSWERED, None), "it lives");
    child.kill().expect("it lives");
    child.wait().expect("it is ours");
}

#[test]
fn what_has_ended_by_itself_is_said() {
    let mut child = child();
    child.kill().expect("it lives");
    child.wait().expect("it is ours");
    let (code, text) = run_with(&[report(vec![orphan(child.id(), 2)]), report(vec![])]);
    assert!(text.contains("had already exited"), "{text}");
    assert_eq!(code, ANSWERED);
}

#[test]
fn what_does_not_end_is_left_with_the_line_to_paste() {
    let deaf = "trap '' TERM; echo ready; while :; do sleep 1; done";
    let mut command = Command::new("sh");
    command.args(["-c", deaf]).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("a shell is everywhere");
    let mut ready = [0; 6];
    let mut output = child.stdout.take().expect("it is piped");
    io::Read::read_exact(&mut output, &mut ready).expect("it says so");
    let (code, text) = run_with(&[report(vec![orphan(child.id(), 2)])]);
    assert!(text.contains(&format!("\n  kill -9 {}\n", child.id())), "{text}");
    assert_eq!(code, FAILED);
    child.kill().expect("it lives");
    child.wait().expect("it is ours");
}

#[test]
fn others_and_strangers_are_never_targets() {
    let others = Holder { orphan: Some(Orphan { own: false }), ..orphan(42, 1) };
    let child_of_someone = Holder { orphan: None, ..orphan(43, 1) };
    let of_unknown_age = Holder { started: None, ..orphan(44, 1) };
    let mut report = report(vec![others, child_of_someone, of_unknown_age]);
    // A server that is meant to outlive its parent: the checks do not call it suspicious.
    report.devices.push(device(1, 0, vec![orphan(45, 1)]));
    report.devices[1].suspicions.clear();
    let (code, text) = run_with(&[report]);
    assert_eq!(text, "No orphan of yours holds memory: nothing to terminate.\n");
    assert_eq!(code, ANSWERED);
}

#[test]
fn root_is_told_of_other_users_orphans() {
    let mut child = child();
    let of_another = |pid| Holder { orphan: Some(Orphan { own: false }), ..orphan(pid, 2) };
    let of_root = Holder { user: Some("root".to_owned()), ..of_another(77) };
    let held = report(vec![of_another(child.id()), of_another(4_000_001), of_root]);
    let (code, text) = run_as(true, |_| true, std::slice::from_ref(&held));
    let expected = format!(
        "No orphan of root's holds memory: nothing to terminate.\n2 orphans of other users hold \
         4.00 GiB. This command never terminates other users' processes; to terminate them:\n  \
         kill {} 4000001\n",
        child.id()
    );
    assert_eq!((code, text), (ANSWERED, expected));
    assert_eq!(child.try_wait().expect("it is ours"), None, "it lives");
    child.kill().expect("it lives");
    child.wait().expect("it is ours");

    let (_, text) = run_as(true, |_| false, std::slice::from_ref(&held));
    assert!(!text.contains("kill"), "what uses no GPU is not named: {text}");
    let (_, text) = run_as(false, |_| true, &[held]);
    assert_eq!(text, "No orphan of yours holds memory: nothing to terminate.\n");
}

#[test]
fn memory_on_several_devices_is_one_process() {
    let report = node(vec![device(0, 0, vec![orphan(42, 1)]), device(1, 0, vec![orphan(42, 2)])]);
    let targets = targets(&report);
    assert_eq!((targets.len(), targets[0].bytes), (1, 3 << 30));
    assert!(holds(&report, 1, 42) && !holds(&report, 2, 42));
}
