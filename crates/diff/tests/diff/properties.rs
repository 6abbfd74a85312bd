//! What holds for any two runs.

use crate::runs::{rank, row, run, without_module};
use proptest::prelude::*;
use whyoom_diff::{Change, Comparison, Group, Row, compare};
use whyoom_trace::ModuleRole;

/// Rows of few modules, functions and lines, so that many of two runs go together.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    let one = (0usize..4, 0usize..7, 0usize..3, 1u32..6, 1u64..1 << 30, 1u64..4, any::<bool>());
    let row = one.prop_map(|(module, role, function, line, bytes, blocks, known)| {
        let modules = ["GPT.layers.0", "GPT.layers.1.mlp", "GPT.head", "GPT"];
        let functions = ["forward", "main", "helper"];
        let role = ModuleRole::ALL[role];
        let row = Row { blocks, ..row(modules[module], role, (functions[function], line), bytes) };
        if known { row } else { without_module(row) }
    });
    prop::collection::vec(row, 0..40)
}

fn compared(a: &[Row], b: &[Row]) -> Comparison {
    compare(&run(rank(a.to_vec())), &run(rank(b.to_vec())))
}

proptest! {
    #[test]
    fn differences_of_rows_add_up_to_that_of_the_peaks(a in rows(), b in rows()) {
        let comparison = compared(&a, &b);
        let only = &comparison.ranks[0];
        let sum = |bytes: &mut dyn Iterator<Item = i64>| bytes.sum::<i64>();
        let peak = &only.peak;
        prop_assert_eq!(sum(&mut peak.changes.iter().map(Change::bytes)), only.bytes());
        for groups in [&peak.by_category, &peak.by_phase, &peak.by_site] {
            prop_assert_eq!(sum(&mut groups.iter().map(Group::bytes)), only.bytes());
        }
        let a_bytes: u64 = peak.changes.iter().map(|change| change.a.bytes).sum();
        prop_assert_eq!(a_bytes, only.a.peak);
    }

    #[test]
    fn a_run_and_itself_do_not_differ(a in rows()) {
        let comparison = compared(&a, &a);
        prop_assert!(comparison.ranks[0].unchanged);
    }

    #[test]
    fn swapped_runs_differ_the_other_way(a in rows(), b in rows()) {
        let (there, back) = (compared(&a, &b), compared(&b, &a));
        let (there, back) = (&there.ranks[0], &back.ranks[0]);
        prop_assert_eq!(there.bytes(), -back.bytes());
        let mut bytes: Vec<i64> = there.peak.changes.iter().map(Change::bytes).collect();
        let mut negated: Vec<i64> = back.peak.changes.iter().map(|one| -one.bytes()).collect();
        bytes.sort_unstable();
        negated.sort_unstable();
        prop_assert_eq!(bytes, negated);
        let kinds = |groups: &[Group], sign: i64| {
            let named = groups.iter().map(|group| (group.name.clone(), sign * group.bytes()));
            named.collect::<std::collections::BTreeMap<_, _>>()
        };
        prop_assert_eq!(kinds(&there.peak.by_category, 1), kinds(&back.peak.by_category, -1));
    }
}
