//! The programs that any such tool must get right, as the lab's own log tells of them, with what a
//! recorder adds: stacks, what was free when a request failed, who else held memory, the end.
#![allow(clippy::disallowed_methods, reason = "a test's own files")]
#![expect(clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::path::PathBuf;

use whyoom_causes::{Ahead, Figure, InputOrigin, Measured, Verdict, judge_on};
use whyoom_memory::Model;
use whyoom_trace::{EventSink, Tables, lines};

/// A frame: function, file, line, and the library where the file is a source file.
type Frame = (&'static str, &'static str, u32, &'static str);

struct Run {
    program: &'static str,
    cause: &'static str,
    /// The stacks that its lines name by number, from 1 on.
    stacks: &'static [&'static [Frame]],
    /// Words that its headline, reason, evidence or remedies must contain.
    must: &'static [&'static str],
}

const DRIVER: Frame = ("cuMemAlloc_v2", "libcuda.so.1", 0, "");
const RUNTIME: Frame = ("cudaMalloc", "libcudart.so.13", 0, "");
const MAIN01: Frame = ("main", "/src/program01.cu", 13, "program01");
const MAIN02: Frame = ("main", "/src/program02.cu", 24, "program02");
const LAUNCH02: Frame = ("main", "/src/program02.cu", 25, "program02");
const MAIN07: Frame = ("main", "/src/program07.cu", 36, "program07");

const RUNS: &[Run] = &[
    Run {
        program: "program01",
        cause: "healthy",
        stacks: &[&[DRIVER, RUNTIME, MAIN01]],
        must: &["nothing grew", "All 8 allocations were freed"],
    },
    Run {
        program: "program02",
        cause: "unchecked-error",
        stacks: &[&[DRIVER, RUNTIME, MAIN02], &[LAUNCH02], &[MAIN02]],
        must: &[
            "sum_in_shared",
            "4.00 MiB of dynamic shared memory",
            "cudaGetLastError()",
            "program02.cu:25",
        ],
    },
    Run {
        program: "program03",
        cause: "mempool-held",
        stacks: &[
            &[("main", "/src/program03.cu", 33, "program03")],
            &[DRIVER, RUNTIME, ("main", "/src/program03.cu", 43, "program03")],
        ],
        must: &["keeps 1.00 GiB", "not documented", "cudaMemPoolTrimTo(pool, 0)", "everything"],
    },
    Run {
        program: "program07",
        cause: "device-heap",
        stacks: &[&[DRIVER, RUNTIME, MAIN07], &[MAIN07]],
        must: &["8.00 MiB", "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaLimitMallocHeapSize"],
    },
    Run {
        program: "program08",
        cause: "pinned-host",
        stacks: &[
            &[
                ("cudaMallocHost", "libcudart.so.13", 0, ""),
                ("upload_batch", "/src/program08.cu", 14, "program08"),
            ],
            &[DRIVER, RUNTIME, ("upload_batch", "/src/program08.cu", 16, "program08")],
        ],
        must: &["4.00 MiB at a time", "program08.cu:14", "cudaFreeHost"],
    },
    Run {
        program: "program09",
        cause: "request-too-big",
        stacks: &[&[DRIVER, RUNTIME, ("main", "/src/program09.cu", 10, "program09")]],
        must: &["4.00 GiB", "2.00 GiB", "program09.cu:10"],
    },
    Run {
        program: "program10",
        cause: "growth",
        stacks: &[&[DRIVER, RUNTIME, ("process_batch", "/src/program10.cu", 21, "program10")]],
        must: &[
            "64.00 MiB",
            "program10.cu:21 process_batch",
            "unique_ptr",
            "the driver freed everything",
        ],
    },
    Run {
        program: "program11",
        cause: "other-process",
        stacks: &[
            &[DRIVER, RUNTIME, ("main", "/src/program11.cu", 62, "program11")],
            &[DRIVER, RUNTIME, ("hold", "/src/program11.cu", 25, "program11")],
        ],
        must: &["“program11 hold” (process 10203) holds 1.41 GiB", "kill 10203"],
    },
    Run {
        program: "program12",
        cause: "leak-at-exit",
        stacks: &[
            &[DRIVER, RUNTIME, ("main", "/src/program12.cu", 19, "program12")],
            &[
                DRIVER,
                RUNTIME,
                ("leaky_scale", "/src/leaky.cu", 11, "libleaky.so"),
                ("main", "/src/program12.cu", 20, "program12"),
            ],
            &[("leaky_scale", "/src/leaky.cu", 13, "libleaky.so")],
        ],
        must: &["libleaky.so left 10 allocations, 40.00 MiB", "leaky.cu:11", "10 of 10"],
    },
];

fn judged(run: &Run) -> Verdict {
    let mut tables = Tables::default();
    for frames in run.stacks {
        let mut ids = Vec::new();
        for (function, file, line, library) in *frames {
            let frame = tables.frame_text(function, file, *line);
            if !library.is_empty() {
                tables.set_library(frame, library);
            }
            ids.push(frame);
        }
        tables.stack(&ids);
    }
    let folder = PathBuf::from(".").join("tests/fixtures/runs");
    let path = folder.join(format!("{}.jsonl", run.program));
    let text = std::fs::read_to_string(path).expect("the fixture is committed");
    let (mut reader, mut model) = (lines::Reader::default(), Model::default());
    for line in text.lines() {
        let event = reader.read(line, &mut tables).expect("every line is an event");
        model.event(&event, &tables);
    }
    let origin = InputOrigin { running: (2..20_000).collect(), ..InputOrigin::own(&[run.program]) };
    judge_on(&model, &tables, Measured::default(), &origin, &Ahead::default())
}

/// Everything that a person reads of a verdict.
fn words(verdict: &Verdict) -> String {
    let finding = &verdict.primary;
    let mut words = vec![finding.headline.clone(), finding.because.clone()];
    for evidence in &finding.evidence {
        let figure = match &evidence.figure {
            Figure::Bytes(bytes) => bytes.to_string(),
            Figure::Text(text) => text.clone(),
            other => format!("{other:?}"),
        };
        words.push(format!("{}: {figure}", evidence.label));
    }
    words.extend(finding.call_sites.iter().map(|site| site.call_site.clone()));
    for remedy in &finding.remedies {
        words.push(format!("{} {}", remedy.code().unwrap_or_default(), remedy.what));
    }
    words.join("\n")
}

#[test]
fn every_program_gets_the_one_right_answer() {
    for run in RUNS {
        let verdict = judged(run);
        let words = words(&verdict);
        assert_eq!(verdict.primary.cause, run.cause, "{}: {words}", run.program);
        for wanted in run.must {
            assert!(words.contains(wanted), "{} lacks {wanted:?}:\n{words}", run.program);
        }
    }
}

#[test]
fn a_remedy_is_given_wherever_something_is_wrong() {
    for run in RUNS.iter().filter(|run| run.cause != "healthy") {
        let verdict = judged(run);
        assert!(!verdict.primary.remedies.is_empty(), "{}", run.program);
    }
}
