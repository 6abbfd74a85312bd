//! Files that people try first and that hold no answer: what each is, and what to do instead.

/// Said of what is none of the files that are known here.
pub(crate) const NOTHING_KNOWN: &str = "unknown file type; supported are a log with the message, a \
                                        PyTorch memory snapshot, an RMM log, an SQLite export of \
                                        Nsight Systems and a folder of whyoom run";

/// What to do to get something that can be read.
macro_rules! record_instead {
    () => {
        "rerun the program as whyoom run -- PROGRAM"
    };
}

/// A kind of file that cannot be read: what it starts with, and what to do.
type Beginning = (&'static [u8], &'static str);

const BEGINNINGS: &[Beginning] = &[
    (b"\x1f\x8b", "it is compressed with gzip; use: zcat FILE | whyoom why"),
    (b"\x28\xb5\x2f\xfd", "it is compressed with zstd; use: zstd -dc FILE | whyoom why"),
    (b"\xfd7zXZ\0", "it is compressed with xz; use: xz -dc FILE | whyoom why"),
    (b"BZh", "it is compressed with bzip2; use: bzip2 -dc FILE | whyoom why"),
    (b"\x04\x22\x4d\x18", "it is compressed with lz4; use: lz4 -dc FILE | whyoom why"),
    (
        b"PK\x03\x04",
        "it is a zip archive, perhaps a checkpoint of torch.save; create a memory snapshot with \
         torch.cuda.memory._dump_snapshot",
    ),
    // torch.save before PyTorch 1.6 begins with a number of its own.
    (
        b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.",
        "it is a checkpoint of torch.save: it contains weights, not memory usage; create a memory \
         snapshot with torch.cuda.memory._dump_snapshot",
    ),
    (
        b"\x93NUMPY",
        "it is a NumPy array; create a memory snapshot with torch.cuda.memory._dump_snapshot",
    ),
    (
        b"\x89HDF\r\n",
        "it is an HDF5 file; create an SQLite export of a Nsight Systems report: nsys export --type \
         sqlite -o out.sqlite report.nsys-rep",
    ),
    (
        b"ARROW1",
        "it is an Arrow file; create an SQLite export of a Nsight Systems report: nsys export \
         --type sqlite -o out.sqlite report.nsys-rep",
    ),
    (
        b"PAR1",
        concat!("it is a Parquet file, which whyoom can write but not read; ", record_instead!()),
    ),
    (
        b"\x89PNG",
        "it is an image; copy the message as text: whyoom why, then paste it and press Ctrl-D",
    ),
    (
        b"\xff\xd8\xff",
        "it is an image; copy the message as text: whyoom why, then paste it and press Ctrl-D",
    ),
    (b"%PDF", "it is a PDF; copy the message as text: whyoom why, then paste it and press Ctrl-D"),
    (b"whyoomPT", "it is one file of a recording; name the folder that contains it"),
    (b"whyoomEV", "it is one file of a recording; name the folder that contains it"),
    (b"whyoomTB", "it is one file of a recording; name the folder that contains it"),
];

/// Names of files that nothing in their first bytes tells.
const ENDINGS: &[(&str, &str)] = &[
    (".nsys-rep", NSYS_REPORT),
    (".qdrep", NSYS_REPORT),
    (
        ".qdstrm",
        "it is an unfinished Nsight Systems report; open it once in nsys-ui, or import it with \
         QdstrmImporter, then: nsys export --type sqlite -o out.sqlite report.nsys-rep",
    ),
    (
        ".ncu-rep",
        concat!(
            "it is a Nsight Compute report, which contains no allocations; ",
            record_instead!()
        ),
    ),
];

const NSYS_REPORT: &str = "it is a Nsight Systems report; export it first: nsys export --type \
                           sqlite -o out.sqlite FILE, then: whyoom why out.sqlite";

/// Why an input cannot be read and what to do, with lines that can be pasted; nothing where it can.
pub(crate) fn reason(name: &str, first: &[u8]) -> Option<String> {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "/._-+".contains(sign);
    let is_word = name.chars().all(plain) && !name.starts_with('-');
    let file = if is_word { name } else { "FILE" };
    told_of(name, first).map(|told| told.replace("FILE", file))
}

fn told_of(name: &str, first: &[u8]) -> Option<&'static str> {
    if first.is_empty() {
        return Some("it is empty");
    }
    let begins = BEGINNINGS.iter().find(|(beginning, _)| first.starts_with(beginning));
    let ends = || ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    let told = begins.map(|(_, told)| *told).or_else(|| program(first)).or_else(|| archive(first));
    told.or_else(|| trace(first)).or_else(|| ends().map(|(_, told)| *told))
}

/// ELF: a program, a library, or what is left of a process.
fn program(first: &[u8]) -> Option<&'static str> {
    /// Where its kind stands, and that of a core dump, on machines that write the lower byte first.
    const KIND: usize = 16;
    const CORE: u8 = 4;
    first.starts_with(b"\x7fELF").then(|| match first.get(KIND) {
        Some(&CORE) => concat!(
            "it is a core dump, which does not contain GPU memory; ",
            record_instead!(),
            ", whose recording survives a crash"
        ),
        _ => "it is a program or a library; to record it: whyoom run -- FILE",
    })
}

fn archive(first: &[u8]) -> Option<&'static str> {
    let is_tar = first.get(257..262) == Some(b"ustar");
    is_tar.then_some("it is a tar archive; extract the file first: tar -xf FILE")
}

/// A trace of torch.profiler: JSON for Chrome.
fn trace(first: &[u8]) -> Option<&'static str> {
    let has = |word: &[u8]| first.windows(word.len()).any(|part| part == word);
    let is_json = first.trim_ascii_start().starts_with(b"{");
    let is_trace = is_json && (has(b"\"traceEvents\"") || has(b"\"schemaVersion\""));
    is_trace.then_some(concat!(
        "it is a Chrome trace, as written by torch.profiler: even its [memory] events contain \
         neither the blocks' stacks nor the cache's segments; ",
        record_instead!(),
        ", or add torch.cuda.memory._record_memory_history(max_entries=1_000_000) and \
         torch.cuda.memory._dump_snapshot(\"oom.pickle\")"
    ))
}

/// What to do instead of reading a text that holds no message; nothing where it is an ordinary one.
pub(crate) fn text_without_message(first: &[u8]) -> Option<&'static str> {
    let text = first.trim_ascii_start();
    let begins = |word: &str| {
        text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
    };
    (begins("<!doctype html") || begins("<html")).then_some(
        "it is a web page, not the file that the page shows, and it contains no message: download \
         the file itself (on GitHub: the button Raw)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(name: &str, first_bytes: &[u8]) -> String {
        reason(name, first_bytes).unwrap_or_default()
    }

    #[test]
    fn each_file_that_people_try_says_what_to_do() {
        let mut core = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0".to_vec();
        core.resize(512, 0);
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let cases: [(&str, &[u8], &str); 14] = [
            ("empty", b"", "empty"),
            ("a.pickle.gz", b"\x1f\x8b\x08", "zcat a.pickle.gz | whyoom why"),
            ("a.pickle.zst", b"\x28\xb5\x2f\xfd\0", "zstd -dc a.pickle.zst"),
            ("a.log.xz", b"\xfd7zXZ\0\0", "xz -dc a.log.xz"),
            ("a b.log.bz2", b"BZh91AY", "bzip2 -dc FILE"),
            ("model.pt", b"PK\x03\x04", "checkpoint of torch.save"),
            (
                "model.pth",
                b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80",
                "checkpoint of torch.save",
            ),
            ("core.17", &core, "core dump"),
            ("logs.tar", &tar, "tar -xf logs.tar"),
            ("report.nsys-rep", b"\0\0\x01", "nsys export --type sqlite"),
            ("report.qdrep", b"any", "nsys export --type sqlite"),
            ("trace.json", b"{\n  \"schemaVersion\": 1,\n", "_dump_snapshot"),
            ("screen.png", b"\x89PNG\r\n", "paste it"),
            ("1-2.part", b"whyoomPT\x01\0\0\0", "name the folder"),
        ];
        for (name, first_bytes, words) in cases {
            assert!(told(name, first_bytes).contains(words), "{name}: {}", told(name, first_bytes));
        }
        assert_eq!(told("a.log", b"CUDA out of memory"), "");
        assert_eq!(told("a.pickle", b"\x80\x04\x95"), "");
    }

    #[test]
    fn a_page_without_a_message_is_no_log() {
        assert!(text_without_message(b"\n<!DOCTYPE html><html>").is_some());
        assert!(text_without_message(b"<html lang=en>").is_some());
        assert!(text_without_message(b"Traceback (most recent call last):").is_none());
    }
}
