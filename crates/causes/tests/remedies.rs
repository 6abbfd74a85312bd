//! Remedies that follow from the run itself: its command, its settings, what was left for one request.

mod pytorch_run;

use pytorch_run::{GIB, MIB, Run, TORCH, TRAIN, advice};
use whyoom_causes::{Figure, Finding, Verdict};
use whyoom_trace::{Action, Address, Bytes, Counter, MemoryKind, facts::Fact};

fn first_line(finding: &Finding) -> &str {
    finding.remedies.iter().find_map(|remedy| remedy.code()).unwrap_or_default()
}

const COMMAND: &str = "python\0train.py\0--batch\x0064";

#[test]
fn the_largest_batch_is_searched_for_on_the_same_gpu() {
    for (gpu, options) in [
        (Some(("3060", 8 * GIB)), " --gpu 3060"),
        // A name that is not in the table may be anything.
        (Some(("3060; touch x;", 8 * GIB)), " --memory 8GiB"),
        (Some(("a100-80gb", 80 * GIB)), " --gpu a100-80gb --memory 8GiB"),
        (None, " --memory 8GiB"),
    ] {
        let mut run = Run::new(&[TORCH, TRAIN], &[]);
        run.command(COMMAND);
        if let Some((model, total)) = gpu {
            let (model, total) = (run.tables.string(model), Bytes(total));
            run.push(Action::Fact { fact: Fact::Gpu { model, total } });
        }
        run.segment(GIB, 7 * GIB);
        run.block(GIB, 7 * GIB);
        let verdict = run.refused(GIB, 500 * MIB);
        assert_eq!(verdict.primary.cause, "working-set");
        let line =
            format!("whyoom fit{options} --vary batch=1..64 -- python train.py --batch {{batch}}");
        assert_eq!(first_line(&verdict.primary), line);
    }
}

#[test]
fn without_a_size_to_lower_the_piece_that_fits_is_told() {
    let mut run = Run::new(&[TORCH, TRAIN], &[]);
    run.command("python\0train.py");
    run.segment(GIB, 7 * GIB);
    run.block(GIB, 7 * GIB);
    let verdict = run.refused(GIB, 501 * MIB);
    let advice = advice(&verdict.primary);
    assert!(advice.contains("pieces of at most 500.00 MiB"), "{advice}");
    assert!(!advice.contains("whyoom fit") && !advice.contains(".to(torch.float32)"), "{advice}");
}

#[test]
fn the_largest_chunk_of_one_request_is_a_number() {
    let mut run = Run::new(&[TORCH, TRAIN], &[]);
    run.segment(GIB, 2 * GIB);
    run.block(GIB, 2 * GIB);
    let verdict = run.refused(20 * GIB, 5 * GIB);
    assert_eq!(verdict.primary.cause, "request-too-big");
    let advice = advice(&verdict.primary);
    assert!(
        advice.contains("chunks of at most 5.00 GiB") && advice.contains("4 of them"),
        "{advice}"
    );
}

#[test]
fn expandable_segments_grow_by_whole_pages() {
    let mut run = Run::new(&[TORCH, TRAIN], &[]);
    run.expandable(GIB, 7 * GIB);
    run.block(GIB, 7 * GIB);
    // 12 MiB need a page of 20 MiB, and 18 are free.
    let verdict = run.refused(12 * MIB, 18 * MIB);
    assert_eq!(verdict.primary.cause, "working-set", "{:#?}", verdict.primary);
    assert_eq!(verdict.primary.reclaimable, Some(Bytes(2 * MIB)));
}

#[test]
fn a_cap_of_pytorchs_own_is_known_by_its_refusal() {
    for (conf, cap) in [("", 2 * GIB), ("per_process_memory_fraction:0.2", 8 * GIB / 5)] {
        let mut run = Run::new(&[TORCH, TRAIN], &[("PYTORCH_CUDA_ALLOC_CONF", conf)]);
        run.segment(GIB, 3 * GIB / 2);
        run.block(GIB, 3 * GIB / 2);
        let verdict = run.refused(GIB, 6 * GIB);
        assert_eq!(verdict.primary.cause, "limit", "{:#?}", verdict.primary);
        assert_eq!(verdict.primary.reclaimable, Some(Bytes(8 * GIB - cap)));
        let line = first_line(&verdict.primary);
        let expected = match conf {
            "" => "torch.cuda.set_per_process_memory_fraction(0.32)",
            _ => "export PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.32",
        };
        assert_eq!(line, expected);
    }
}

/// A library holds most of the device beside PyTorch.
fn beside_library(settings: &[(&str, &str)]) -> Verdict {
    let frames = [("cudaMalloc", "libcudart.so.13", 0), ("ncclInit", "libnccl.so.2", 0), TRAIN];
    let mut run = Run::new(&frames, settings);
    let (kind, address, size) = (MemoryKind::Device, Address(1 << 40), Bytes(3 * GIB));
    run.push(Action::Alloc { kind, address, size });
    let ids: Vec<_> =
        [TORCH, TRAIN].map(|(f, file, line)| run.tables.frame_text(f, file, line)).into();
    run.stack = run.tables.stack(&ids);
    run.segment(GIB, 4 * GIB);
    run.block(GIB, 4 * GIB);
    run.push(Action::Sample { counter: Counter::ProcessUsed, bytes: Bytes(7 * GIB + 500 * MIB) });
    run.refused(GIB, 500 * MIB)
}

#[test]
fn a_librarys_setting_is_offered_once() {
    let verdict = beside_library(&[]);
    assert_eq!(verdict.primary.cause, "library-workspace");
    assert_eq!(first_line(&verdict.primary), "export NCCL_BUFFSIZE=1048576");
    let verdict = beside_library(&[("NCCL_BUFFSIZE", "524288")]);
    let advice = advice(&verdict.primary);
    assert!(!advice.contains("NCCL_BUFFSIZE") && advice.contains("NCCL_MAX_CTAS"), "{advice}");
}

/// Half of what PyTorch holds is free, in pieces of 64 MiB.
fn in_pieces(settings: &[(&str, &str)]) -> Verdict {
    let mut run = Run::new(&[TORCH, ("load_weights", "/home/me/train.py", 12)], settings);
    run.segment(GIB, 6 * GIB);
    for block in 0..48 {
        run.block(GIB + block * 128 * MIB, 64 * MIB);
    }
    run.refused(GIB, 500 * MIB)
}

#[test]
fn fragmentation_is_a_figure() {
    let verdict = in_pieces(&[]);
    assert_eq!(verdict.primary.cause, "fragmented-cache");
    let share = verdict.primary.evidence.iter().find(|one| one.label.starts_with("fragmentation"));
    let Some(Figure::Share(share)) = share.map(|one| one.figure.clone()) else {
        panic!("{:#?}", verdict.primary.evidence)
    };
    assert!((share - 47.0 / 48.0).abs() < 1e-9, "{share}");
    assert!(first_line(&verdict.primary).contains("expandable_segments:True"));
}

#[test]
fn a_setting_without_effect_is_told_so() {
    let verdict = in_pieces(&[("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")]);
    assert_eq!(verdict.primary.cause, "late-setting", "{:#?}", verdict.primary);
    assert!(verdict.primary.headline.contains("no effect"), "{}", verdict.primary.headline);
    assert!(first_line(&verdict.primary).contains("expandable_segments:True"));
}

#[test]
fn what_was_live_is_kept_with_the_failure() {
    let mut run = Run::new(&[TORCH, TRAIN], &[]);
    run.segment(GIB, 6 * GIB);
    for block in 0..48 {
        run.block(GIB + block * 128 * MIB, 64 * MIB);
    }
    run.refused(GIB, 500 * MIB);
    for block in 0..48 {
        run.push(Action::BlockFree { address: Address(GIB + block * 128 * MIB) });
    }
    let live = &run.model.incidents()[0].live;
    let [sum] = live.as_slice() else { panic!("{live:#?}") };
    assert_eq!((sum.usage.blocks, sum.usage.bytes), (48, Bytes(3 * GIB)));
    assert!(sum.oldest < sum.newest);
}
