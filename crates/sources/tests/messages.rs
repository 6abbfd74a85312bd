//! Every format of message, as programs print it and people paste it, read to the right fields.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

use std::fmt::Write as _;

use whyoom_sources::oom_text;
use whyoom_trace::{Action, Event, Tables};

/// A text, and what must be read from it: a line for each incident and setting.
struct Sample {
    id: &'static str,
    text: &'static str,
    read: &'static [&'static str],
}

/// Spells out what was read.
fn read(text: &str) -> Vec<String> {
    read_bytes(text.as_bytes())
}

fn read_bytes(text: &[u8]) -> Vec<String> {
    let (mut tables, mut events) = (Tables::default(), Vec::<Event>::new());
    oom_text::scan(text, "log", &mut tables, &mut events).unwrap();
    let (mut lines, mut line) = (Vec::new(), String::new());
    for event in events {
        match event.action {
            Action::Sample { counter, bytes } => write!(line, " {counter:?}={bytes}").unwrap(),
            Action::Holder { pid, bytes, .. } => write!(line, " {pid}={bytes}").unwrap(),
            Action::Symptom { symptom, software, .. } => {
                let process = tables.process_name(event.origin.process);
                let rank =
                    process.strip_prefix("log, ").map_or(String::new(), |r| format!("{r}, "));
                let device = event.origin.device;
                lines.push(format!("{rank}{device}: {software:?} {symptom:?}{line}"));
                line.clear();
            }
            // What is told of the text around a message.
            Action::Fact { .. } => {}
            Action::Setting { name, .. }
                if ["shell", "steps_done", "typed_command"].contains(&tables.text(name)) => {}
            Action::Setting { name, value } => {
                lines.push(format!("{} = {}", tables.text(name), tables.text(value)));
            }
            other => panic!("{other:?}"),
        }
    }
    lines
}

#[test]
fn each_format_is_read_to_its_fields() {
    for sample in SAMPLES {
        assert_eq!(read(sample.text), sample.read, "{}: {}", sample.id, sample.text);
    }
}

#[test]
fn each_sample_is_known_by_its_format() {
    // ROCm's messages are PyTorch's, and some of a format's words are another's.
    let same = |id: &str, format: &str| id == format || (id == "A" && format == "P4");
    for sample in SAMPLES.iter().filter(|sample| sample.id != "settings") {
        let (mut tables, mut events) = (Tables::default(), Vec::<Event>::new());
        let summary =
            oom_text::scan(sample.text.as_bytes(), "log", &mut tables, &mut events).unwrap();
        assert!(same(sample.id, summary.formats[0]), "{}: {:?}", sample.id, summary.formats);
        assert_eq!(summary.messages, sample.read.len(), "{}", sample.text);
    }
}

#[test]
fn every_format_has_a_sample() {
    let ids = [
        "P0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "B", "D", "A", "K", "TF", "X", "C",
        "R", "N", "V", "L", "H", "O",
    ];
    for id in ids {
        assert!(SAMPLES.iter().any(|sample| sample.id == id), "{id}");
    }
}

#[test]
fn a_message_is_found_wherever_chunks_end() {
    let message = SAMPLES.iter().find(|sample| sample.id == "P4").unwrap();
    // The scanner reads in chunks of 1 MiB: the message must survive lying across their border.
    for shift in (0..2200).step_by(97) {
        let mut log = "x".repeat((1 << 20) - shift - 1);
        log.push('\n');
        log.push_str(message.text);
        log.push_str(&"\ny".repeat(1 << 20));
        assert_eq!(read(&log), message.read, "shift {shift}");
    }
}

#[test]
fn ranks_that_write_at_once_are_told_apart() {
    let log = "\
[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 5 has a total capacity of 23.43 GiB of which 210.06 MiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 22.41 GiB is allocated by PyTorch, and 206.09 MiB is reserved by PyTorch but unallocated.
[rank2]: Traceback (most recent call last):
[rank2]:   File \"lora_finetune_distributed.py\", line 942, in <module>
[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 2 has a total capacity of 23.43 GiB of which 210.06 MiB is free. Of the allocated memory 22.40 GiB is allocated by PyTorch, and 206.09 MiB is reserved by PyTorch but unallocated.
[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 5 has a total capacity of 23.43 GiB of which 210.06 MiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 22.41 GiB is allocated by PyTorch, and 206.09 MiB is reserved by PyTorch but unallocated.
";
    let expected = [
        "rank 5, GPU 5: PyTorch DeviceOutOfMemory DeviceTotal=23.43 GiB DeviceFree=210.06 MiB Requested=1.96 GiB Allocated=22.41 GiB Cached=206.09 MiB",
        "rank 2, GPU 2: PyTorch DeviceOutOfMemory DeviceTotal=23.43 GiB DeviceFree=210.06 MiB Requested=1.96 GiB Allocated=22.40 GiB Cached=206.09 MiB",
    ];
    assert_eq!(read(log), expected);
}

/// Terminals, mails and people wrap messages at any width.
#[test]
fn a_message_is_read_however_it_is_wrapped() {
    let message = SAMPLES.iter().find(|sample| sample.id == "P4").unwrap();
    for width in 40..220 {
        let characters: Vec<char> = message.text.chars().collect();
        let hard: Vec<String> =
            characters.chunks(width).map(|line| line.iter().collect()).collect();
        assert_eq!(read(&hard.join("\n")), message.read, "cut at {width}");
        let (mut soft, mut column) = (String::new(), 0);
        for word in message.text.split(' ') {
            let fits = column + word.len() < width;
            soft.push_str(if soft.is_empty() {
                ""
            } else if fits {
                " "
            } else {
                "\n"
            });
            column = if fits { column + word.len() + 1 } else { word.len() };
            soft.push_str(word);
        }
        assert_eq!(read(&soft), message.read, "wrapped at {width}");
    }
}

#[test]
fn two_bytes_a_character_are_read() {
    let message = SAMPLES.iter().find(|sample| sample.id == "P4").unwrap();
    let bytes: Vec<u8> = std::iter::once(0xfeff)
        .chain(message.text.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(read_bytes(&bytes), message.read);
}

#[test]
fn the_traceback_before_a_message_is_its_stack() {
    let log = "\
[rank1]: Traceback (most recent call last):
[rank1]:   File \"/home/me/train.py\", line 90, in <module>
[rank0]:   File \"/home/me/other.py\", line 1, in other
[rank1]:     main()
[rank1]:   File \"/home/me/model.py\", line 12, in forward
[rank1]:     return self.block(x)
[rank1]: RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 1 has a total capacity of 8.00 GiB of which 0 bytes is free.
";
    let (mut tables, mut events) = (Tables::default(), Vec::<Event>::new());
    oom_text::scan(log.as_bytes(), "log", &mut tables, &mut events).unwrap();
    let frames: Vec<_> = tables
        .frames(events.last().unwrap().stack)
        .map(|frame| (frame.function, frame.file, frame.line))
        .collect();
    assert_eq!(
        frames,
        [("forward", "/home/me/model.py", 12), ("<module>", "/home/me/train.py", 90)]
    );
}

/// What looks like a message and is none.
#[test]
fn false_friends_are_left_alone() {
    let friends = [
        "W tensorflow/core/common_runtime/bfc_allocator.cc:246] Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.02GiB with freed_by_count=0. The caller indicates that this is not a failure, but may mean that there could be performance gains if more memory were available.",
        "    raise ValueError(\"No available memory for the cache blocks. \"",
        "cuda runtime error (711) : peer mapping resources exhausted at /pytorch/THCGeneral.cpp:136",
        "exit code 143",
        "Killed by the referee",
        "players killed: 4, Killed: 7",
        "Ignoring invalid expandable-segment reserve value 'x' in PYTORCH_CUDA_ALLOC_CONF",
        "include/alloc.h:185 NCCL WARN Cuda failure 1 'invalid argument'",
        "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        "[HAMI-core Warn] Device 0 approaching OOM 5 / 6, requesting resize",
        "low 0\nhigh 0\nmax 2685\noom 0\noom_kill 0\n",
        "an ordinary line about memory",
        "Tip: if you see \"CUDA out of memory\" lower the batch size.",
        "    if \"CUDA out of memory\" in str(error):",
        "you can use PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True here",
        "try setting\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation",
        "\"OOMKilled\":false,",
        "OOMKilled: false",
        "",
    ];
    for text in friends {
        assert_eq!(read(text), Vec::<String>::new(), "{text}");
    }
}

const SAMPLES: &[Sample] = &[
    Sample {
        id: "P0",
        text: "THCudaCheck FAIL file=/pytorch/torch/lib/THC/generic/THCStorage.cu line=58 error=2 : out of memory\nRuntimeError: cuda runtime error (2) : out of memory at /pytorch/torch/lib/THC/generic/THCStorage.cu:58",
        read: &["a GPU: PyTorch DeviceOutOfMemory"],
    },
    Sample {
        id: "P1",
        text: "RuntimeError: CUDA out of memory. Tried to allocate 32.00 MiB (GPU 0; 7.79 GiB total capacity; 6.64 GiB already allocated; 21.00 MiB free; 150.86 MiB cached)",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory Requested=32.00 MiB DeviceTotal=7.79 GiB Allocated=6.64 GiB DeviceFree=21.00 MiB Cached=150.86 MiB",
        ],
    },
    Sample {
        id: "P2",
        text: "RuntimeError: CUDA out of memory. Tried to allocate 6.05 GiB (GPU 7; 15.78 GiB total capacity; 1.54 GiB already allocated; 6.05 GiB free; 8.28 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        read: &[
            "GPU 7: PyTorch DeviceOutOfMemory Requested=6.05 GiB DeviceTotal=15.78 GiB Allocated=1.54 GiB DeviceFree=6.05 GiB Reserved=8.28 GiB",
        ],
    },
    Sample {
        id: "P2",
        text: "# RuntimeError: CUDA out of memory. Tried to allocate 37.25 GiB (GPU 0; 23.68 GiB total capacity; 192.29 MiB already allocated; 15.79 GiB free; 2.37 GiB allowed; 5.05 GiB reserved in total by PyTorch",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory Requested=37.25 GiB DeviceTotal=23.68 GiB Allocated=192.29 MiB DeviceFree=15.79 GiB Allowed=2.37 GiB Reserved=5.05 GiB",
        ],
    },
    Sample {
        id: "P3",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 496.00 MiB. GPU 0 has a total capacty of 14.75 GiB of which 235.06 MiB is free. Process 20398 has 14.52 GiB memory in use. Of the allocated memory 14.06 GiB is allocated by PyTorch, and 330.42 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory DeviceTotal=14.75 GiB DeviceFree=235.06 MiB Requested=496.00 MiB Allocated=14.06 GiB Cached=330.42 MiB 20398=14.52 GiB",
        ],
    },
    Sample {
        id: "P4",
        text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 86.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 264.00 MiB is free. Process 2086283 has 419.48 MiB memory in use. Including non-PyTorch memory, this process has 8.04 GiB memory in use. Process 2797307 has 14.85 GiB memory in use. Of the allocated memory 7.63 GiB is allocated by PyTorch, and 40.11 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory DeviceTotal=23.64 GiB DeviceFree=264.00 MiB Requested=86.00 MiB ProcessUsed=8.04 GiB Allocated=7.63 GiB Cached=40.11 MiB 2086283=419.48 MiB 2797307=14.85 GiB",
        ],
    },
    Sample {
        id: "P4",
        text: "ERROR 04-01 23:46:56 [engine.py:160] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 546.00 MiB. GPU 0 has a total capacity of 15.77 GiB of which 514.19 MiB is free. Process 562167 has 15.25 GiB memory in use. Of the allocated memory 13.73 GiB is allocated by PyTorch, with 46.00 MiB allocated in private pools (e.g., CUDA Graphs), and 736.86 MiB is reserved by PyTorch but unallocated.",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory DeviceTotal=15.77 GiB DeviceFree=514.19 MiB Requested=546.00 MiB Allocated=13.73 GiB PrivateFree=46.00 MiB Cached=736.86 MiB 562167=15.25 GiB",
        ],
    },
    Sample {
        id: "P4",
        text: "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.13 GiB. GPU 0 has a total capacity of 8.00 GiB of which 6.10 GiB is free. Process 9132 has 17179869184.00 GiB memory in use. Including non-PyTorch memory, this process has 17179869184.00 GiB memory in use. 2.63 GiB allowed; Of the allocated memory 954.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated.",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory DeviceTotal=8.00 GiB DeviceFree=6.10 GiB Requested=2.13 GiB Allowed=2.63 GiB Allocated=954.00 MiB Cached=0 B",
        ],
    },
    Sample {
        id: "P4",
        text: "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.36 GiB. GPU 1 has a total capacity of 47.50 GiB of which 1.52 GiB is free. Including non-PyTorch memory, this process has 45.97 GiB memory in use. Of the allocated memory 4\n0.30 GiB is allocated by PyTorch, and 4.91 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory\n Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)   \n[rank6]: Traceback (most recent call last):",
        read: &[
            "rank 1, GPU 1: PyTorch DeviceOutOfMemory DeviceTotal=47.50 GiB DeviceFree=1.52 GiB Requested=8.36 GiB ProcessUsed=45.97 GiB Allocated=40.30 GiB Cached=4.91 GiB",
        ],
    },
    Sample {
        id: "P4",
        text: "CUDA out of memory. Tried to allocate 4.09 GiB. GPU 0 has a total capacity of 15.92 GiB\nof which 0 bytes is free. Of the allocated memory 18.48 GiB is allocated by PyTorch, and\n4.62 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is\nlarge try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.\n",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory DeviceTotal=15.92 GiB DeviceFree=0 B Requested=4.09 GiB Allocated=18.48 GiB Cached=4.62 GiB",
        ],
    },
    Sample {
        id: "P4",
        text: "  \"error\": \"CUDA out of memory. Tried to allocate 11.28 GiB. GPU 1 has a total capacity of 15.47 GiB of which 5.46 GiB is free. Including non-PyTorch memory, this process has 9.98 GiB memory in use. Of the allocated memory 9.77 GiB is allocated by PyTorch, and 2.00 MiB is reserved by PyTorch but unallocated.\\nIf reserved\",\n  \"traceback\": \"x\"",
        read: &[
            "GPU 1: PyTorch DeviceOutOfMemory DeviceTotal=15.47 GiB DeviceFree=5.46 GiB Requested=11.28 GiB ProcessUsed=9.98 GiB Allocated=9.77 GiB Cached=2.00 MiB",
        ],
    },
    Sample {
        id: "P4",
        text: "(VllmWorker rank=1 pid=2978) ERROR 03-19 07:27:53 [multiproc_executor.py:375] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.74 GiB. GPU 1 has a total capacity of 23.57 GiB of which 605.88 MiB is free. Process 133288 has 22.97 GiB memory in u",
        read: &[
            "rank 1, GPU 1: PyTorch DeviceOutOfMemory DeviceTotal=23.57 GiB DeviceFree=605.88 MiB Requested=1.74 GiB",
        ],
    },
    Sample {
        id: "P4",
        text: "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.10 GiB of which 70.00 GiB is free. Of the allocated memory 1.00 GiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. This request would dip into the expandable-segment reserve (expandable_segments_reserve:0.9).",
        read: &[
            "GPU 0: PyTorch LimitReached DeviceTotal=79.10 GiB DeviceFree=70.00 GiB Requested=20.00 MiB Allocated=1.00 GiB Cached=0 B",
        ],
    },
    Sample {
        id: "P5",
        text: "torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 6.89 GiB\nRequested               : 320.00 MiB\nDevice limit            : 23.69 GiB\nFree (according to CUDA): 2.94 MiB\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB\n2024-06-22 15:13:25,079- root:124- INFO- Prompt executed in 57.84 seconds",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory Requested=320.00 MiB DeviceTotal=23.69 GiB DeviceFree=2.94 MiB Allocated=6.89 GiB",
        ],
    },
    Sample {
        id: "P5",
        text: "panicked at 'Unable to warmup model: Generation(\"Allocation on device 0 would exceed allowed memory. (out of memory)\\nCurrently allocated     : 16.08 GiB\\nRequested               : 4.83 GiB\\nDevice limit            : 22.20 GiB\\nFree (according to CUDA): 11.12 MiB\\nPyTorch limit (set by user-supplied memory fraction)\\n                        : 22.20 GiB\")'",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory Requested=4.83 GiB DeviceTotal=22.20 GiB DeviceFree=11.12 MiB Allocated=16.08 GiB Allowed=22.20 GiB",
        ],
    },
    Sample {
        id: "P5",
        text: "2024-12-16 17:10:56,767 - root - ERROR - !!! Exception during processing !!! Allocation on device \n2024-12-16 17:10:56,770 - root - ERROR - Traceback (most recent call last):",
        read: &["a GPU: PyTorch DeviceOutOfMemory"],
    },
    Sample {
        id: "P6",
        text: "torch.AcceleratorError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call",
        read: &["a GPU: PyTorch DeviceOutOfMemory"],
    },
    Sample {
        id: "P6",
        text: "CUDA error: out of memorySearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com",
        read: &["a GPU: PyTorch DeviceOutOfMemory"],
    },
    Sample {
        id: "P6",
        text: "RuntimeError: Caught RuntimeError in pin memory thread for device 0.\nOriginal Traceback (most recent call last):\n  File \"torch/utils/data/_utils/pin_memory.py\", line 55, in pin_memory\n    return data.pin_memory()\nRuntimeError: CUDA error: out of memory\nFor debugging consider",
        read: &["host: PyTorch PinnedOutOfMemory"],
    },
    Sample {
        id: "P6",
        text: "Traceback (most recent call last):\n  File \"loader.py\", line 9, in pin_memory\n    x = x.pin_memory()\n  File \"train.py\", line 5, in step\n    model.cuda()\nRuntimeError: CUDA error: out of memory",
        read: &["a GPU: PyTorch DeviceOutOfMemory"],
    },
    Sample {
        id: "P7",
        text: "RuntimeError: NVML_SUCCESS == r INTERNAL ASSERT FAILED at \"../c10/cuda/CUDACachingAllocator.cpp\":830, please report a bug to PyTorch. ",
        read: &["a GPU: PyTorch ReportFailed"],
    },
    Sample {
        id: "P8",
        text: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
        read: &["a GPU: PyTorch BogusSize"],
    },
    Sample {
        id: "P9",
        text: "RuntimeError: config[i] == get()->name() INTERNAL ASSERT FAILED at \"../c10/cuda/CUDACachingAllocator.cpp\":644, please report a bug to PyTorch. Allocator backend parsed at runtime != allocator backend parsed at load time",
        read: &["a GPU: PyTorch SettingTooLate"],
    },
    Sample {
        id: "P10",
        text: "[W1119 20:02:08.5 CUDACachingAllocator.cpp:4040] Preemptively rejecting allocation: requested 6.00 GiB but total_allocated_memory (4.00 GiB) + requested size would exceed memory limit (8.00 GiB = 100% of 8.00 GiB). Set throw_on_cudamalloc_oom:false to disable.\nTraceback (most recent call last):\n  File \"a.py\", line 4, in <module>\n    b = torch.empty(6 << 30)\ntorch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected because it would exceed per_process_memory_fraction limit. Requested size: 6.00 GiB\n",
        read: &[
            "a GPU: PyTorch LimitReached Requested=6.00 GiB Reserved=4.00 GiB Allowed=8.00 GiB",
        ],
    },
    Sample {
        id: "A",
        text: "!!! HIP out of memory. Tried to allocate 6.64 GiB. GPU 0 has a total capacity of 19.92 GiB of which 6.22 GiB is free. Of the allocated memory 5.34 GiB is allocated by PyTorch, and 7.10 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        read: &[
            "GPU 0: PyTorch DeviceOutOfMemory DeviceTotal=19.92 GiB DeviceFree=6.22 GiB Requested=6.64 GiB Allocated=5.34 GiB Cached=7.10 GiB",
        ],
    },
    Sample {
        id: "B",
        text: "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        read: &["a GPU: CuBlas LibraryAllocFailed"],
    },
    Sample {
        id: "B",
        text: "E tensorflow/stream_executor/cuda/cuda_blas.cc:238] failed to create cublas handle: CUBLAS_STATUS_NOT_INITIALIZED",
        read: &["a GPU: CuBlas IndirectOom"],
    },
    Sample {
        id: "B",
        text: "cupy.cuda.cufft.CuFftError: CUFFT_ALLOC_FAILED",
        read: &["a GPU: CuFft LibraryAllocFailed"],
    },
    Sample {
        id: "D",
        text: "!!! Exception during processing !!! GET was unable to find an engine to execute this computation",
        read: &["a GPU: CuDnn IndirectOom"],
    },
    Sample {
        id: "D",
        text: "memory.used [MiB], memory.total [MiB]\n18 MiB, 24564 MiB\n$ python demo.py\nRuntimeError: GET was unable to find an engine to execute this computation",
        read: &["a GPU: CuDnn IndirectOom DeviceTotal=23.99 GiB DeviceFree=23.97 GiB"],
    },
    Sample {
        id: "D",
        text: "RuntimeError: Unable to find a valid cuDNN algorithm to run convolution (try_all at Conv.cpp:693)",
        read: &["a GPU: CuDnn IndirectOom"],
    },
    Sample {
        id: "D",
        text: "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        read: &["a GPU: CuDnn LibraryAllocFailed"],
    },
    Sample {
        id: "K",
        text: "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice,task=perl,pid=1440763,uid=21417\nOut of memory: Killed process 1440763 (perl) total-vm:87033376kB, anon-rss:60356340kB, file-rss:0kB, shmem-rss:0kB, UID:21417 pgtables:169956kB oom_score_adj:0",
        read: &["host: Kernel HostKilled HostResident=57.56 GiB"],
    },
    Sample {
        id: "K",
        text: "[ 7063.247407] Memory cgroup out of memory: Killed process 63214 (uwsgi) total-vm:3149468kB, anon-rss:164992kB, file-rss:52176kB",
        read: &["host: Kernel HostKilled HostResident=161.12 MiB"],
    },
    Sample {
        id: "K",
        text: "slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks have been OOM Killed.",
        read: &["host: Supervisor HostKilled"],
    },
    Sample {
        id: "K",
        text: "slurmstepd: error: Detected 1 oom-kill event(s) in step 3495064.0 cgroup.",
        read: &["host: Supervisor HostKilled"],
    },
    Sample {
        id: "K",
        text: "Last State:     Terminated\n  Reason:       OOMKilled\n  Started:      Fri",
        read: &["host: Supervisor HostKilled"],
    },
    Sample {
        id: "K",
        text: "memory.max        536870912\nmemory.events\nlow 0\nmax 35\noom 1\noom_kill 1\n",
        read: &["host: Kernel HostKilled HostLimit=512.00 MiB"],
    },
    Sample {
        id: "K",
        text: "  exitcode  : -9 (pid: 14750)\n  traceback : Signal 9 (SIGKILL) received by PID 14750",
        read: &["host: Supervisor Killed"],
    },
    Sample {
        id: "K",
        text: "Loading checkpoint shards:  33%|███▎      | 5/15 [01:12<02:21, 14.12s/it]Killed\n$ echo $?\n",
        read: &["host: Supervisor Killed"],
    },
    Sample {
        id: "K",
        text: "./train.sh: line 3:  4711 Killed                  python train.py",
        read: &["host: Supervisor Killed"],
    },
    Sample { id: "K", text: "zsh: killed     python train.py", read: &["host: Supervisor Killed"] },
    Sample {
        id: "K",
        text: "command terminated with exit code 137",
        read: &["host: Supervisor Killed"],
    },
    Sample {
        id: "K",
        text: "RuntimeError: [enforce fail at alloc_cpu.cpp:73] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 116813856768 bytes. Error code 12 (Cannot allocate memory)",
        read: &["host: PyTorch HostOutOfMemory Requested=108.79 GiB"],
    },
    Sample {
        id: "TF",
        text: "ResourceExhaustedError: OOM when allocating tensor with shape[8,64,256,256] and type float on /job:localhost/replica:0/task:0/device:GPU:1 by allocator GPU_1_bfc\n\t [[{{node mish_4/mul}}]]",
        read: &["GPU 1: TensorFlow DeviceOutOfMemory Requested=128.00 MiB"],
    },
    Sample {
        id: "TF",
        text: "OOM when allocating tensor with shape[4096] and type double on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
        read: &["host: TensorFlow HostOutOfMemory Requested=32.00 KiB"],
    },
    Sample {
        id: "TF",
        text: "E cuda_driver.cc:828] failed to allocate 32.00M (33554432 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        read: &["a GPU: TensorFlow DeviceOutOfMemory Requested=32.00 MiB"],
    },
    Sample {
        id: "TF",
        text: "W bfc_allocator.cc:501] Allocator (GPU_2_bfc) ran out of memory trying to allocate 1.25TiB (rounded to 1374521760000)requested by op ",
        read: &["GPU 2: TensorFlow DeviceOutOfMemory Requested=1.25 TiB"],
    },
    Sample {
        id: "TF",
        text: "W bfc_allocator.cc:497] Allocator (xla_gpu_host_bfc) ran out of memory trying to allocate 8.00GiB (rounded to 8589934592)requested by op",
        read: &["host: TensorFlow PinnedOutOfMemory Requested=8.00 GiB"],
    },
    Sample {
        id: "TF",
        text: "I bfc_allocator.cc:963] Stats: \nLimit:                  2147483648\nInUse:                  2097152000\nMaxInUse:               2097152000\nW op_kernel.cc:1622] OP_REQUIRES failed at conv_ops.cc:947 : Resource exhausted: OOM when allocating tensor with shape[64,1024,1024] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
        read: &[
            "GPU 0: TensorFlow DeviceOutOfMemory Requested=256.00 MiB Reserved=1.95 GiB Allocated=1.95 GiB DeviceFree=48.00 MiB",
        ],
    },
    Sample {
        id: "TF",
        text: "Total memory: 7.92GiB\nFree memory: 186.44MiB\nE cuda_driver.cc:1002] failed to allocate 186.44M (195494912 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY",
        read: &[
            "a GPU: TensorFlow DeviceOutOfMemory Requested=186.44 MiB DeviceTotal=7.92 GiB DeviceFree=186.44 MiB Allocated=0 B Reserved=0 B",
        ],
    },
    Sample {
        id: "X",
        text: "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes.\nBufferAssignment OOM Debugging.",
        read: &["a GPU: Xla DeviceOutOfMemory Requested=4.44 GiB"],
    },
    Sample {
        id: "X",
        text: "JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.95GiB\nwith allocator GPU_3_bfc on device 3.\n[executable_name='jit_greater']",
        read: &["GPU 3: Xla DeviceOutOfMemory Requested=1.95 GiB"],
    },
    Sample {
        id: "X",
        text: "XlaRuntimeError: RESOURCE_EXHAUSTED: Failed to allocate request for 2.99GiB (3206250496B) on device ordinal 1",
        read: &["GPU 1: Xla DeviceOutOfMemory Requested=2.99 GiB"],
    },
    Sample {
        id: "X",
        text: "[0] Failed to allocate 2.00GiB (2147483648 bytes) of pinned host memory: CUDA_ERROR_OUT_OF_MEMORY",
        read: &["host: Xla PinnedOutOfMemory Requested=2.00 GiB"],
    },
    Sample {
        id: "X",
        text: "platform: cpu\njax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 85898814480 bytes.",
        read: &["host: Xla HostOutOfMemory Requested=80.00 GiB"],
    },
    Sample {
        id: "X",
        text: "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 85898814480 bytes.",
        read: &["a GPU: Xla DeviceOutOfMemory Requested=80.00 GiB"],
    },
    Sample {
        id: "C",
        text: "Exception in main training loop: Out of memory allocating 25,600,000 bytes (allocated so far: 3,635,267,072 bytes).",
        read: &["a GPU: CuPy DeviceOutOfMemory Requested=24.41 MiB Reserved=3.39 GiB"],
    },
    Sample {
        id: "C",
        text: "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 761,856,000 bytes\n(allocated so far: 6,104,426,496 bytes, limit set to: 6,531,579,904 bytes)",
        read: &["a GPU: CuPy LimitReached Requested=726.56 MiB Reserved=5.69 GiB Allowed=6.08 GiB"],
    },
    Sample {
        id: "C",
        text: "Out of memory allocating 285,296,072 bytes (allocated so far: 7,381,975,040 bytes, limit set to: 18,446,744,073,709,551,615 bytes).",
        read: &["a GPU: CuPy DeviceOutOfMemory Requested=272.08 MiB Reserved=6.88 GiB"],
    },
    Sample {
        id: "C",
        text: "In [10]: cupy.cuda.runtime.memGetInfo()\nOut[10]: (11404640256, 11718230016)\nOutOfMemoryError: Out of memory allocating 50,000,000,000 bytes (allocated so far: 6,800,384 bytes).",
        read: &[
            "a GPU: CuPy DeviceOutOfMemory Requested=46.57 GiB Reserved=6.49 MiB DeviceTotal=10.91 GiB",
        ],
    },
    Sample {
        id: "R",
        text: "MemoryError: std::bad_alloc: out_of_memory: CUDA error (failed to allocate 33295450768 bytes) at: /include/rmm/mr/device/cuda_memory_resource.hpp:62: cudaErrorMemoryAllocation out of memory",
        read: &["a GPU: Rmm DeviceOutOfMemory Requested=31.01 GiB"],
    },
    Sample {
        id: "R",
        text: "std::bad_alloc: out_of_memory: RMM failure at:.../pool_memory_resource_impl.cpp:73: Maximum pool size exceeded (failed to allocate 10.371208 GiB): Not enough room to grow, current/max/try size = 78.000000 GiB, 78.000000 GiB, 10.371208 GiB",
        read: &["a GPU: Rmm LimitReached Requested=10.37 GiB Reserved=78.00 GiB Allowed=78.00 GiB"],
    },
    Sample {
        id: "R",
        text: "Exceeded memory limit (failed to allocate 38.146973 MiB)",
        read: &["a GPU: Rmm LimitReached Requested=38.15 MiB"],
    },
    Sample {
        id: "R",
        text: "cudaMemPoolAttrReservedMemCurrent: 2147483648\ncudaMemPoolAttrUsedMemCurrent: 1073741824\nstd::bad_alloc: out_of_memory: CUDA error (failed to allocate 1048576 bytes) at: cuda_async_view_memory_resource.hpp:107: cudaErrorMemoryAllocation out of memory",
        read: &[
            "a GPU: Rmm DeviceOutOfMemory Requested=1.00 MiB Reserved=2.00 GiB Allocated=1.00 GiB",
        ],
    },
    Sample {
        id: "R",
        text: "INFO GpuDeviceManager: Initializing RMM POOL pool size = 2048.0 MB on gpuId 0\nINFO DeviceMemoryEventHandler: Device allocation of 2097152 bytes failed, device store has 0 bytes. Total RMM allocated is 1073741824 bytes.\nstd::bad_alloc: out_of_memory: RMM failure at:pool_memory_resource.hpp:196: Maximum pool size exceeded",
        read: &[
            "a GPU: Rmm DeviceOutOfMemory Requested=2.00 MiB Reserved=2.00 GiB Allocated=1.00 GiB",
        ],
    },
    Sample {
        id: "N",
        text: "ng30903:3063028:3066152 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\n\nng30903:3063028:3066152 [3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291456 bytes",
        read: &[
            "a GPU: Nccl LibraryAllocFailed",
            "a GPU: Nccl LibraryAllocFailed Requested=6.00 MiB",
        ],
    },
    Sample {
        id: "N",
        text: "include/alloc.h:320 (ncclCuMemAlloc) NCCL WARN Cuda failure 2 'out of memory'",
        read: &["a GPU: Nccl LibraryAllocFailed"],
    },
    Sample {
        id: "N",
        text: "Failed to CUDA host alloc 4923392 bytes",
        read: &["host: Nccl PinnedOutOfMemory Requested=4.70 MiB"],
    },
    Sample {
        id: "N",
        text: "n7:41:43 [3] include/alloc.h:187 NCCL WARN Cuda failure 2 'out of memory'\nn7:41:43 [3] include/alloc.h:193 NCCL WARN Failed to CUDA host alloc 67108864 bytes",
        read: &["host: Nccl PinnedOutOfMemory Requested=64.00 MiB"],
    },
    Sample {
        id: "V",
        text: "(EngineCore_DP0 pid=972) ERROR [core.py:935] ValueError: Free memory on device cuda:0 (1.53/22.05 GiB) on startup is less than desired GPU memory utilization (0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
        read: &[
            "GPU 0: Vllm PreallocationFailed DeviceFree=1.53 GiB DeviceTotal=22.05 GiB Preallocation=19.84 GiB",
        ],
    },
    Sample {
        id: "V",
        text: "vllm-1  | ERROR 11-18 18:07:28 engine.py:366]     raise ValueError(\"No available memory for the cache blocks. \"\nvllm-1  | ERROR 11-18 18:07:28 engine.py:366] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        read: &["a GPU: Vllm ShareTooSmall"],
    },
    Sample {
        id: "V",
        text: "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (0.71 GiB). Based on the available memory, the estimated maximum model length is 5632.",
        read: &["a GPU: Vllm ShareTooSmall Needed=16.00 GiB RoomLeft=727.04 MiB"],
    },
    Sample {
        id: "V",
        text: "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
        read: &["a GPU: Vllm ShareTooLarge"],
    },
    Sample {
        id: "V",
        text: "AssertionError: Error in memory profiling. Initial free memory 30.3 GiB, current free memory 30.3 GiB.",
        read: &["a GPU: Vllm FreeMemoryChanged"],
    },
    Sample {
        id: "L",
        text: "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 144817.04 MiB on device 0: cudaMalloc failed: out of memory\nalloc_tensor_range: failed to allocate CUDA0 buffer of size 151851674624\nllama_model_load: error loading model: unable to allocate CUDA0 buffer",
        read: &["GPU 0: LlamaCpp DeviceOutOfMemory Requested=141.42 GiB"],
    },
    Sample {
        id: "L",
        text: "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3060) - 4096 MiB free\nload_tensors:        CUDA0 model buffer size =  2048.00 MiB\nload_tensors:   CPU_Mapped model buffer size =   417.66 MiB\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 3072.00 MiB on device 0: cudaMalloc failed: out of memory",
        read: &[
            "GPU 0: LlamaCpp DeviceOutOfMemory Requested=3.00 GiB Allocated=2.00 GiB Reserved=2.00 GiB DeviceFree=2.00 GiB DeviceTotal=12.00 GiB",
        ],
    },
    Sample {
        id: "L",
        text: "ggml_gallocr_reserve_n: failed to allocate ROCm1 buffer of size 14822711296\ngraph_reserve: failed to allocate compute buffers\nfailed to initialize the context: failed to allocate compute pp buffers",
        read: &["GPU 1: LlamaCpp DeviceOutOfMemory Requested=13.80 GiB"],
    },
    Sample {
        id: "O",
        text: "Global Memory Size: 12287 MB\nMax Alloc Size: 3071 MB\nwhat():  Invalid Buffer Size",
        read: &["a GPU: Program LimitReached Allowed=3.00 GiB"],
    },
    Sample {
        id: "H",
        text: "[HAMI-core ERROR (pid:25 thread=139892685178688 allocator.c:53)]: Device 0 OOM 27147995136 / 25757220864",
        read: &["GPU 0: Hami LimitReached Needed=25.28 GiB Allowed=23.99 GiB"],
    },
    Sample {
        id: "V",
        text: "The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache (23648). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        read: &["a GPU: Vllm ShareTooSmall"],
    },
    Sample {
        id: "D",
        text: "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
        read: &["a GPU: CuDnn IndirectOom"],
    },
    Sample {
        id: "R",
        text: "Maximum pool size exceeded (failed to allocate 2.000000 GiB): std::bad_alloc: out_of_memory: CUDA error at: x.hpp:62: cudaErrorMemoryAllocation out of memory",
        read: &["a GPU: Rmm DeviceOutOfMemory Requested=2.00 GiB"],
    },
    Sample {
        id: "C",
        text: "Out of memory allocating 1,000,000 bytes (allocated so far: 5,000,000 bytes, limit set to: 8,000,000,000 bytes).",
        read: &[
            "a GPU: CuPy DeviceOutOfMemory Requested=976.56 KiB Reserved=4.77 MiB Allowed=7.45 GiB",
        ],
    },
    Sample {
        id: "P4",
        text: "RuntimeError: CUDA out of memory.",
        read: &["a GPU: PyTorch DeviceOutOfMemory"],
    },
    Sample {
        id: "P4",
        text: "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.5",
        read: &["a GPU: PyTorch DeviceOutOfMemory"],
    },
    Sample {
        id: "settings",
        text: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nos.environ[\"XLA_PYTHON_CLIENT_MEM_FRACTION\"] = \"0.9\"",
        read: &[
            "PYTORCH_CUDA_ALLOC_CONF = expandable_segments:True",
            "XLA_PYTHON_CLIENT_MEM_FRACTION = 0.9",
        ],
    },
];
