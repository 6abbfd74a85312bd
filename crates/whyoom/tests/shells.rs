//! A line to paste is written for the shell that the text was copied from.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    io::Write,
    process::{Command, Stdio},
};

/// A failure by fragmentation, for which a setting is the fix.
const MESSAGE: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total \
                       capacity of 23.69 GiB of which 210.31 MiB is free. Of the allocated memory 15.11 GiB is \
                       allocated by PyTorch, and 7.92 GiB is reserved by PyTorch but unallocated.";

fn why(text: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyoom"));
    command.args(["why", "--verbose"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut whyoom = command.stderr(Stdio::null()).spawn().unwrap();
    whyoom.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(whyoom.wait_with_output().unwrap().stdout).unwrap()
}

fn traceback(prompt: &str, file: &str) -> String {
    format!(
        "{prompt}python train.py\nTraceback (most recent call last):\n  File \"{file}\", line 61, in step\n    \
         y = f(x)\n{MESSAGE}\n"
    )
}

#[test]
fn lines_are_written_for_the_texts_own_shell() {
    let cmd = "set PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb";
    let powershell = "$env:PYTORCH_CUDA_ALLOC_CONF = 'max_split_size_mb";
    let posix = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    for (prompt, file, line) in [
        ("(venv) C:\\proj>", "C:\\proj\\train.py", cmd),
        ("(venv) PS C:\\proj> ", "C:\\proj\\train.py", powershell),
        ("", "C:\\proj\\train.py", powershell),
        ("PS C:\\proj> wsl\nme@desk:/mnt/c/proj$ ", "/mnt/c/proj/train.py", posix),
        ("me@desk:~/proj$ ", "/home/me/proj/train.py", posix),
        ("", "/home/me/proj/train.py", posix),
    ] {
        let verdict = why(&traceback(prompt, file));
        assert!(verdict.contains(line), "{prompt}{file}: {verdict}");
        if line != posix {
            for other in ["export ", "expandable_segments:True"] {
                assert!(!verdict.contains(other), "{prompt}{file}: {verdict}");
            }
        }
    }
}
