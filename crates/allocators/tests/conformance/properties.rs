//! Any run of requests keeps the contract; a run that does not is shrunk to a small one.

use proptest::prelude::*;
use whyoom_allocators::BlockId;

use crate::checked::Checked;
use crate::{MIB, policies};

#[derive(Clone, Debug)]
enum Step {
    Alloc {
        size: u64,
        stream: u64,
        pool: u32,
    },
    /// The live block at that place, counted around.
    Free(usize),
    ReleaseCached,
}

/// Sizes at the bounds where policies change their ways, beside any.
fn size() -> impl Strategy<Value = u64> {
    prop_oneof![
        1..=2_000_u64,
        (0..28_u32, 0..3_u64)
            .prop_map(|(bits, at)| ((1_u64 << bits) + at).saturating_sub(1).max(1)),
        1..=80 * MIB,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (size(), 0..3_u64, 0..3_u32)
            .prop_map(|(size, stream, pool)| Step::Alloc { size, stream, pool }),
        9 => any::<usize>().prop_map(Step::Free),
        1 => Just(Step::ReleaseCached),
    ]
}

fn run(checked: &mut Checked, steps: &[Step]) {
    let mut live: Vec<BlockId> = Vec::new();
    for step in steps {
        match *step {
            Step::Alloc { size, stream, pool } => live.extend(checked.alloc(size, stream, pool)),
            Step::Free(_) if live.is_empty() => {}
            Step::Free(at) => checked.free(live.swap_remove(at % live.len())),
            Step::ReleaseCached => checked.release_cached(),
        }
        checked.check_all();
    }
    checked.free_all();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_run_keeps_the_contract(steps in prop::collection::vec(step(), 1..120)) {
        for (name, make) in policies() {
            run(&mut Checked::new(name, make(), 160 * MIB), &steps);
        }
    }
}
