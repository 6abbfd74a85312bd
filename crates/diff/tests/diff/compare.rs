//! One planted difference each, in made-up runs.

use crate::runs::{MIB, layers, memory, rank, row, run, without_module};
use whyoom_diff::{Comparison, Explanation, KindChange, RankProfile, Reason, Row, compare};
use whyoom_memory::{Category, Phase};
use whyoom_trace::ModuleRole;

fn compared(a: RankProfile, b: RankProfile) -> Comparison {
    compare(&run(a), &run(b))
}

/// The first explanation of two sets of rows.
fn first(a: Vec<Row>, b: Vec<Row>) -> Explanation {
    let comparison = compared(rank(a), rank(b));
    let explanations = comparison.ranks[0].explanations();
    explanations.first().expect("they differ").clone()
}

#[test]
fn a_run_and_itself() {
    let comparison = compared(rank(layers(4, MIB)), rank(layers(4, MIB)));
    let only = &comparison.ranks[0];
    assert!(only.unchanged && only.bytes() == 0 && only.explanations().is_empty());
    assert!(only.peak.changes.iter().all(|change| change.bytes() == 0));
}

#[test]
fn a_refactoring_changes_nothing() {
    let mut moved = layers(4, MIB);
    for (at, row) in moved.iter_mut().enumerate() {
        // Every line moves, the file has another name, and a function is put around all.
        row.own.iter_mut().for_each(|frame| frame.line += 100 + frame.line / 2);
        row.own[1].file = "layers.py".to_owned();
        let mut around = row.own[0].clone();
        around.function = "train_step".to_owned();
        row.own.insert(1, around);
        row.site = format!("layers.py:{at} somewhere");
    }
    let renamed = moved.iter().cloned().map(|mut row| {
        row.module = row.module.map(|name| name.replace("layers", "blocks"));
        row
    });
    for other in [moved.clone(), renamed.collect()] {
        let comparison = compared(rank(layers(4, MIB)), rank(other));
        assert!(comparison.ranks[0].unchanged, "{:#?}", comparison.ranks[0].explanations());
    }
}

#[test]
fn a_refactoring_without_modules_changes_nothing() {
    let plain = |rows: Vec<Row>| rows.into_iter().map(without_module).collect::<Vec<_>>();
    let mut moved = plain(layers(4, MIB));
    for row in &mut moved {
        row.own.iter_mut().for_each(|frame| {
            frame.line += 7;
            frame.function = format!("new_{}", frame.function);
        });
    }
    let comparison = compared(rank(plain(layers(4, MIB))), rank(moved));
    assert!(comparison.ranks[0].unchanged);
}

#[test]
fn a_layer_that_is_added() {
    let explanation = first(layers(4, MIB), layers(5, MIB));
    assert_eq!(explanation.reason, Reason::Modules { count: 1 });
    assert_eq!(explanation.module.as_deref(), Some("layers.4"));
    assert_eq!(explanation.bytes, 37 * MIB as i64);
    assert_eq!(explanation.category(), "optimizer state");
    let back = first(layers(5, MIB), layers(3, MIB));
    assert_eq!(back.reason, Reason::Modules { count: 2 });
    assert_eq!((back.module.as_deref(), back.bytes), (Some("layers.*.mlp"), -74 * MIB as i64));
}

#[test]
fn a_batch_that_is_doubled() {
    let explanation = first(layers(4, MIB), layers(4, 2 * MIB));
    assert_eq!(explanation.reason, Reason::Scaled { factor: 2.0, squared: false });
    assert_eq!(explanation.bytes, 21 * MIB as i64);
    let kinds = [KindChange { category: Category::Activations, bytes: 21 * MIB as i64 }];
    assert_eq!(explanation.categories, kinds);
}

#[test]
fn a_sequence_that_is_longer() {
    let mut longer = layers(4, 2 * MIB);
    for row in longer.iter_mut().filter(|row| row.own[1].line == 21) {
        (row.bytes, row.requested) = (2 * row.bytes, 2 * row.requested);
    }
    let explanation = first(layers(4, MIB), longer);
    assert_eq!(explanation.reason, Reason::Scaled { factor: 2.0, squared: true });
}

#[test]
fn another_precision() {
    let mut halves = layers(4, MIB);
    for row in &mut halves {
        (row.bytes, row.requested) = (row.bytes / 2, row.requested / 2);
    }
    let explanation = first(layers(4, MIB), halves);
    assert_eq!(explanation.reason, Reason::Precision { factor: 0.5 });
}

#[test]
fn an_optimizer_that_keeps_more() {
    let without: Vec<Row> = layers(4, MIB)
        .into_iter()
        .filter(|row| row.role != Some(ModuleRole::OptimizerState))
        .collect();
    let (mut a, mut b) = (rank(without), rank(layers(4, MIB)));
    let of = |file: &str| {
        let lines = [(format!("torch/optim/{file}.py step"), [1].into())].into();
        [("torch".to_owned(), lines)].into()
    };
    (a.library_lines, b.library_lines) = (of("sgd"), of("adamw"));
    let comparison = compared(a, b);
    let explanation = &comparison.ranks[0].explanations()[0];
    assert_eq!((explanation.category(), explanation.bytes), ("optimizer state", 64 * MIB as i64));
    assert_eq!(explanation.module.as_deref(), Some("layers.*.mlp"));
    assert_eq!((explanation.members, explanation.because.as_deref()), (4, Some("optimizer")));
    assert!(comparison.ranks[0].settings[0].explains);
}

#[test]
fn a_module_that_is_wider() {
    let mut wider = layers(4, MIB);
    for row in wider.iter_mut().filter(|row| row.module.as_deref() == Some("GPT.layers.2.mlp")) {
        (row.bytes, row.requested) = (3 * row.bytes, 3 * row.requested);
    }
    let explanation = first(layers(4, MIB), wider);
    assert_eq!(explanation.module.as_deref(), Some("layers.2.mlp"));
    assert_eq!((explanation.reason, explanation.bytes), (Reason::Grew, 74 * MIB as i64));
}

#[test]
fn a_list_that_keeps() {
    let mut kept = layers(4, MIB);
    let loss = row("GPT", ModuleRole::Forward, ("main", 44), 24 * MIB);
    kept.push(without_module(Row { iterations: 6, blocks: 6, ..loss }));
    let explanation = first(layers(4, MIB), kept);
    let each = Reason::Kept { bytes_per_iteration: 4 * MIB, iterations: 6 };
    assert_eq!((explanation.reason, explanation.bytes), (each, 24 * MIB as i64));
    assert_eq!(explanation.sites[0].site, "model.py:44 main");
}

#[test]
fn a_line_that_is_inserted() {
    let line = |line, bytes| row("GPT.head", ModuleRole::Forward, ("forward", line), bytes);
    let before = vec![line(10, 8 * MIB), line(12, 16 * MIB), line(14, 4 * MIB)];
    let after = vec![line(10, 8 * MIB), line(12, 2 * MIB), line(14, 16 * MIB), line(16, 4 * MIB)];
    let explanation = first(before, after);
    assert_eq!((explanation.reason, explanation.bytes), (Reason::Appeared, 2 * MIB as i64));
    assert_eq!(explanation.sites[0].site, "model.py:12 forward");
}

#[test]
fn a_setting_of_the_allocator() {
    let (a, mut b) = (rank(layers(4, MIB)), rank(layers(4, MIB)));
    b.peak_reserved += 32 * MIB;
    b.settings.insert("CUDA_LAUNCH_BLOCKING".to_owned(), "1".to_owned());
    b.settings.insert("PYTORCH_CUDA_ALLOC_CONF".to_owned(), "max_split_size_mb:64".to_owned());
    let comparison = compared(a, b);
    let only = &comparison.ranks[0];
    assert!(!only.unchanged && only.explanations().is_empty());
    assert_eq!(only.unallocated(), 32 * MIB as i64);
    let names: Vec<_> = only.settings.iter().map(|one| (one.name.as_str(), one.explains)).collect();
    assert_eq!(names, [("PYTORCH_CUDA_ALLOC_CONF", true), ("CUDA_LAUNCH_BLOCKING", false)]);
}

#[test]
fn peaks_in_other_phases_are_compared_in_the_same() {
    let (mut a, b) = (rank(layers(4, MIB)), rank(layers(4, 8 * MIB)));
    // A peaks in the optimizer's step, where it has no activations but something temporary.
    let mut step: Vec<Row> =
        layers(4, MIB).into_iter().filter(|row| row.role != Some(ModuleRole::Forward)).collect();
    step.push(without_module(row("GPT", ModuleRole::Backward, ("main", 42), 40 * MIB)));
    a.phases.insert(Phase::Forward.name().to_owned(), a.peak.clone());
    (a.peak, a.peak_phase) = (memory(step), Phase::Optimizer);
    let comparison = compared(a, b);
    let only = &comparison.ranks[0];
    let same = only.same_phase.as_ref().expect("both have it");
    assert_eq!((same.phase, same.view.bytes()), ("forward", 147 * MIB as i64));
    let Reason::Scaled { factor, .. } = only.explanations()[0].reason else { panic!("it scales") };
    assert_eq!(factor, 8.0);
}

#[test]
fn ranks_are_matched_by_number() {
    let ranked = |number: u32, activations| {
        let mut one = rank(layers(2, activations));
        (one.rank, one.process) = (Some(number), format!("rank {number}"));
        one
    };
    let a = whyoom_diff::Profile {
        name: "a".to_owned(),
        ranks: vec![ranked(0, MIB), ranked(1, MIB), ranked(2, MIB)],
    };
    let b = whyoom_diff::Profile {
        name: "b".to_owned(),
        ranks: vec![ranked(1, 4 * MIB), ranked(0, MIB), ranked(3, MIB)],
    };
    let comparison = compare(&a, &b);
    let ranks: Vec<_> = comparison.ranks.iter().map(|rank| (rank.rank, rank.unchanged)).collect();
    assert_eq!(ranks, [(Some(1), false), (Some(0), true)]);
    assert_eq!(
        (comparison.only_a, comparison.only_b),
        (vec!["rank 2, GPU 0".to_owned()], vec!["rank 3, GPU 0".to_owned()])
    );
}
