//! What a container runtime puts around each line that a program prints.

use std::borrow::Cow;

use serde::Deserialize;

/// How the lines of a log are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// Docker's `json-file` driver: an object a line.
    Docker,
    /// Kubernetes' container runtime interface: a time, the stream, whether the line ends here, the text.
    Cri,
    /// As the program printed it.
    Plain,
}

#[derive(Deserialize)]
struct DockerLine<'a> {
    #[serde(borrow)]
    log: Cow<'a, str>,
}

/// The text that a program printed, from lines of its log. Lines that are not framed as the first are, as the
/// rest of one that was cut, are left as they are. A hole is no text: a log that was cut while its writer kept its
/// place has one, and what begins with zeros is not taken for a log.
#[must_use]
pub fn decode(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let framing = text.lines().find(|line| !line.is_empty()).map_or(Framing::Plain, framing_of);
    let mut decoded = match framing {
        Framing::Plain => text.into_owned(),
        Framing::Docker => text.lines().map(docker).collect(),
        Framing::Cri => text.lines().map(cri).collect(),
    };
    if decoded.contains('\0') {
        decoded.retain(|one| one != '\0');
    }
    decoded
}

fn framing_of(line: &str) -> Framing {
    if line.starts_with("{\"") && serde_json::from_str::<DockerLine<'_>>(line).is_ok() {
        Framing::Docker
    } else if cri_parts(line).is_some() {
        Framing::Cri
    } else {
        Framing::Plain
    }
}

/// Docker keeps the end of the line in the text, and leaves it out where a long line goes on.
fn docker(line: &str) -> Cow<'_, str> {
    match serde_json::from_str::<DockerLine<'_>>(line) {
        Ok(framed) => framed.log,
        Err(_) => format!("{line}\n").into(),
    }
}

fn cri(line: &str) -> Cow<'_, str> {
    match cri_parts(line) {
        Some((true, text)) => text.into(),
        Some((false, text)) => format!("{text}\n").into(),
        None => format!("{line}\n").into(),
    }
}

/// Whether the line goes on, and its text.
fn cri_parts(line: &str) -> Option<(bool, &str)> {
    let mut parts = line.splitn(4, ' ');
    let (time, stream, tag) = (parts.next()?, parts.next()?, parts.next()?);
    let is_time = time.len() >= 20
        && time.as_bytes().get(4) == Some(&b'-')
        && time.as_bytes().get(10) == Some(&b'T');
    let is_stream = matches!(stream, "stdout" | "stderr");
    // Further tags may follow the first, which tells whether the line is whole.
    let goes_on = match tag.split(':').next()? {
        "P" => true,
        "F" => false,
        _ => return None,
    };
    (is_time && is_stream).then_some((goes_on, parts.next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Traceback:\n  File \"a.py\", line 1\nCUDA out of memory. <b>\n";

    #[test]
    fn what_docker_writes() {
        let framed: String = TEXT
            .lines()
            .map(|line| {
                let line = serde_json::to_string(&format!("{line}\n")).expect("a string");
                format!(
                    "{{\"log\":{line},\"stream\":\"stderr\",\"time\":\"2026-11-18T03:04:05Z\"}}\n"
                )
            })
            .collect();
        assert_eq!(decode(framed.as_bytes()), TEXT);
    }

    #[test]
    fn what_kubernetes_writes_and_cuts() {
        let framed = "2026-11-18T03:04:05.123456789Z stderr F Traceback:\n\
                      2026-11-18T03:04:05.123456789+01:00 stderr P   File \"a.py\",\n\
                      2026-11-18T03:04:05.123456789Z stderr F  line 1\n\
                      2026-11-18T03:04:05.123456789Z stderr F:x CUDA out of memory. <b>\n";
        assert_eq!(decode(framed.as_bytes()), TEXT);
        let empty = "2026-11-18T03:04:05.123456789Z stdout F \n";
        assert_eq!(decode(empty.as_bytes()), "\n");
    }

    #[test]
    fn what_a_program_prints_is_not_taken_for_a_frame() {
        for text in [TEXT, "{\"log\": 3}\n", "2026-11-18 stderr F x\n", "{\"step\":1}\nx\n"] {
            assert_eq!(decode(text.as_bytes()), text);
        }
    }

    #[test]
    fn a_hole_is_no_text() {
        assert_eq!(decode(format!("{}{TEXT}", "\0".repeat(9)).as_bytes()), TEXT);
    }

    #[test]
    fn a_line_that_was_cut_stays() {
        let framed = "{\"log\":\"a\\n\",\"stream\":\"stderr\"}\n{\"log\":\"b\n";
        assert_eq!(decode(framed.as_bytes()), "a\n{\"log\":\"b\n");
    }
}
