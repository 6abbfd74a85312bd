//! The version of PyTorch that a text names.

use std::sync::LazyLock;

use regex::Regex;

use super::amount::regex;

/// A version as people and programs write it: `PyTorch version: 2.3.0+cu121`, or `torch==2.1.0` at the end of a line.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        // A terminal's colours may stand around it.
        r#"(?im)(?:^|[^\w.-]|\x1b\[[0-9;]*m)(?:py)?torch(?:"#,
        r#"[ _-]version["'`*]*\s*[:=]+\s*["'`*]*v?(\d+\.\d+\.\d[\w.+]*)"#,
        r#"|==(\d+\.\d+\.\d[\w.+]*)["'`,]*(?:\s|\x1b\[[0-9;]*m)*$)"#,
    ))
});

/// Words of lines that name a version which need not be the one that runs: what is installed, required, or was built.
static OF_OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)#|\b(?:(?:un|re)?install\w*|upgrad\w+|downgrad\w+|add|collecting|download\w*|requir\w+|needs?|",
        r"you have|built|build for|compiled|from|saved|export\w*|instead|before|after)\b",
    ))
});

/// Returns the version that the text names. Returns `None` if it names none, or several.
pub(super) fn torch_version(text: &str) -> Option<&str> {
    let mut found = None;
    for line in text.lines().filter(|line| !OF_OTHERS.is_match(line)) {
        for captures in NAMED.captures_iter(line) {
            let Some(version) = captures.get(1).or(captures.get(2)) else { continue };
            let version = version.as_str().trim_end_matches('.');
            match found {
                Some(other) if numbers(other) != numbers(version) => return None,
                // With the build's name it says more.
                Some(other) if other.len() >= version.len() => {}
                _ => found = Some(version),
            }
        }
    }
    found
}

fn numbers(version: &str) -> &str {
    version.split('+').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::torch_version;

    #[test]
    fn version_is_read_where_it_is_stated() {
        for (text, expected) in [
            ("PyTorch version: 2.3.0+cu121\nIs debug build: False", Some("2.3.0+cu121")),
            ("** pytorch version: 2.9.1+rocm6.4", Some("2.9.1+rocm6.4")),
            ("numpy==1.26\ntorch==2.1.0\ntorchvision==0.16.0", Some("2.1.0")),
            ("[pip3] torch==2.6.0\nPyTorch version: 2.6.0+cu124.", Some("2.6.0+cu124")),
            ("\u{1b}[31mPyTorch version: 2.9.1+cu128\u{1b}[0m", Some("2.9.1+cu128")),
            ("\u{1b}[31mtorch==2.9.1\u{1b}[0m", Some("2.9.1")),
            ("running torch 2.9.1+cu128 here", None),
            ("PyTorch 2.1.0+cu121 with CUDA 1201 (you have 2.9.1+cu128)", None),
            ("xformers 0.0.20 requires torch==2.0.1, but you have torch 2.9.1", None),
            ("Successfully installed torch==2.9.1", None),
            ("Collecting torch==2.1.0", None),
            ("# torch==2.1.0", None),
            ("FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8", None),
            ("model saved with torch_version: 2.1.0", None),
            ("PyTorch version: 2.9.0a0+git12", Some("2.9.0a0+git12")),
            ("torch==2.1.0 works, torch==2.4.1 fails", None),
            ("pip install torch==2.4.1", None),
            ("PyTorch 2.5 adds that", None),
            ("torchvision==0.16.0, libtorch: 2.1.0", None),
            ("with torch 2.6", None),
        ] {
            assert_eq!(torch_version(text), expected, "{text}");
        }
    }
}
