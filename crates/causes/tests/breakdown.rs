//! The memory of a failure adds up, whatever a message says, and a verdict does not move away from what grew.

#[expect(dead_code, reason = "shared with tests that tell whole runs")]
mod told;

use proptest::prelude::*;
use told::{MIB, Run};
use whyoom_causes::{Suffices, Verdict};
use whyoom_trace::{Action, Bytes, Counter, ProcessState, Software, StackId, StringId, Symptom};

/// The figures of a message of PyTorch's.
#[derive(Debug, Clone, Copy)]
struct Message {
    capacity: u64,
    /// What others hold, this process's context, what is live, what is free in the cache: the rest is free.
    others: u64,
    context: u64,
    live: u64,
    cache: u64,
    requested: u64,
}

impl Message {
    fn free(self) -> u64 {
        self.capacity.saturating_sub(self.others + self.context + self.live + self.cache)
    }

    fn judge(self) -> Verdict {
        let mut run = Run::new();
        let text = run.tables.string("CUDA out of memory.");
        for (counter, bytes) in [
            (Counter::Requested, self.requested),
            (Counter::DeviceTotal, self.capacity),
            (Counter::DeviceFree, self.free()),
            (Counter::ProcessUsed, self.context + self.live + self.cache),
            (Counter::Allocated, self.live),
            (Counter::Cached, self.cache),
        ] {
            run.sample(counter, bytes);
        }
        let (pid, bytes) = (4711, Bytes(self.others));
        let holder =
            Action::Holder { pid, bytes, command: StringId(0), standing: ProcessState::Runs };
        if self.others > 0 {
            run.push(StackId(0), holder);
        }
        let (symptom, software) = (Symptom::DeviceOutOfMemory, Software::PyTorch);
        run.push(StackId(0), Action::Symptom { symptom, software, text });
        run.judge()
    }

    /// Whether the causes of a verdict, or of its alternative, are among these.
    fn is_judged(self, causes: &[&str]) -> bool {
        let verdict = self.judge();
        let open = verdict.alternatives.iter().map(|cause| cause.id).chain([verdict.primary.cause]);
        open.into_iter().any(|cause| causes.contains(&cause))
    }
}

/// A device of 4 to 96 GiB, its parts in per mille of it, and a request that is not served.
fn messages() -> impl Strategy<Value = Message> {
    let parts = (4_u64..96, 0_u64..900, 1_u64..20, 0_u64..900, 0_u64..400, 1_u64..600);
    parts.prop_filter_map("more than the device", |(gib, others, context, live, cache, over)| {
        let capacity = gib << 30;
        let part = |share: u64| capacity / 1000 * share / MIB * MIB;
        let message = Message {
            capacity,
            others: part(others),
            context: part(context),
            live: part(live),
            cache: part(cache),
            requested: 0,
        };
        let fits = others + context + live + cache < 1000;
        fits.then(|| Message { requested: message.free() + part(over).max(64 * MIB), ..message })
    })
}

proptest! {
    #[test]
    fn the_parts_are_the_device(message in messages()) {
        let verdict = message.judge();
        let breakdown = verdict.breakdown.unwrap();
        prop_assert!(breakdown.adds_up(), "{breakdown:?}");
        prop_assert_eq!(breakdown.excess, Bytes::ZERO);
        let shortfall = breakdown.shortfall.unwrap();
        let missing = Bytes(message.requested - message.free());
        prop_assert!(shortfall.low <= missing && missing <= shortfall.high, "{shortfall:?}");
    }

    #[test]
    fn what_would_not_do_is_not_named(message in messages()) {
        let verdict = message.judge();
        let breakdown = verdict.breakdown.unwrap();
        let part = match verdict.primary.cause {
            "other-process" => whyoom_causes::Component::OtherProcesses,
            "fragmented-cache" => whyoom_causes::Component::Cache,
            _ => return Ok(()),
        };
        prop_assert_ne!(breakdown.without(&[part]), Some(Suffices::No));
    }

    #[test]
    fn more_in_other_processes_stays_theirs(message in messages(), more in 1_u64..400) {
        prop_assume!(message.judge().primary.cause == "other-process");
        let more = (message.capacity / 1000 * more).min(message.free());
        let grown = Message { others: message.others + more, ..message };
        prop_assert!(grown.is_judged(&["other-process"]), "{:?}", grown.judge().primary);
    }

    #[test]
    fn a_larger_request_stays_too_large(message in messages(), more in 1_u64..400) {
        let too_large = ["working-set", "request-too-big"];
        prop_assume!(too_large.contains(&message.judge().primary.cause));
        let requested = message.requested + message.capacity / 1000 * more;
        let larger = Message { requested, ..message };
        prop_assert!(larger.is_judged(&too_large), "{:?}", larger.judge().primary);
    }

    #[test]
    fn a_smaller_device_stays_too_small(message in messages(), less in 1_u64..400) {
        let too_large = ["working-set", "request-too-big"];
        prop_assume!(too_large.contains(&message.judge().primary.cause));
        // What was free goes first.
        let capacity = message.capacity - (message.capacity / 1000 * less).min(message.free());
        let smaller = Message { capacity, ..message };
        prop_assert!(smaller.is_judged(&too_large), "{:?}", smaller.judge().primary);
    }
}
