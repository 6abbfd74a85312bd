//! Where something is: a file as a URI, and a line.

use std::path::{Component, Path, PathBuf};

use serde::Serialize;

/// What relative URIs are relative to: the folder in which whyoom ran, which code hosts take for the checkout.
const ROOT: &str = "%SRCROOT%";

/// The folder in which whyoom runs, by each of its names.
#[derive(Debug, Clone, Default)]
pub struct SourceFolders(Vec<PathBuf>);

impl SourceFolders {
    /// The folder by these names: with links resolved, and as the shell knows it.
    #[must_use]
    pub fn new(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(folders.into_iter().filter(|folder| folder.is_absolute()).collect())
    }

    /// A path below the folder.
    fn below<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        self.0.iter().find_map(|folder| path.strip_prefix(folder).ok())
    }
}

/// A place in a file.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Words>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Artifact,
    region: Region,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
}

#[derive(Debug, Clone, Serialize)]
struct Words {
    text: String,
}

impl Location {
    /// A line. Nothing for what is no file, as `<stdin>`.
    pub(super) fn of_line(file: &str, line: u32, folders: &SourceFolders) -> Option<Self> {
        let artifact_location = artifact(file, folders)?;
        let region = Region { start_line: line.max(1) };
        let physical_location = PhysicalLocation { artifact_location, region };
        Some(Self { physical_location, message: None })
    }

    /// A file, by its first line.
    pub(super) fn of_file(file: &str, folders: &SourceFolders) -> Option<Self> {
        (file != "standard input").then(|| Self::of_line(file, 1, folders)).flatten()
    }

    /// The same, with what it has to do with the failure.
    pub(super) fn saying(self, what: &str) -> Self {
        Self { message: Some(Words { text: what.to_owned() }), ..self }
    }
}

fn artifact(file: &str, folders: &SourceFolders) -> Option<Artifact> {
    if file.is_empty() || file.starts_with('<') {
        return None;
    }
    if let Some(uri) = windows_uri(file) {
        return Some(Artifact { uri, uri_base_id: None });
    }
    let path = match folders.0.first() {
        Some(here) => cleaned(&here.join(file)),
        None => cleaned(Path::new(file)),
    };
    let below = folders.below(&path).filter(|below| !below.as_os_str().is_empty());
    Some(match below {
        Some(below) => Artifact { uri: encoded(below.to_str()?), uri_base_id: Some(ROOT) },
        None => Artifact { uri: format!("file://{}", encoded(path.to_str()?)), uri_base_id: None },
    })
}

/// A path without `.` and `..`, by its words alone: it may be of another machine.
fn cleaned(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

/// `C:\me\train.py`, or `\\host\share\train.py`.
fn windows_uri(file: &str) -> Option<String> {
    let slashes = |path: &str| encoded(&path.replace('\\', "/"));
    if let Some(share) = file.strip_prefix(r"\\") {
        return Some(format!("file://{}", slashes(share)));
    }
    let (drive, path) = file.split_once(':')?;
    let is_drive = matches!(drive.as_bytes(), [letter] if letter.is_ascii_alphabetic());
    (is_drive && path.starts_with(['\\', '/']))
        .then(|| format!("file:///{drive}:{}", slashes(path)))
}

/// A path as it may stand in a URI: a colon would make its first part a scheme.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte.into());
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_checkout_are_relative_and_others_are_not() {
        let folders = SourceFolders::new(["/data/me/proj", "/home/me/proj"].map(PathBuf::from));
        let located = |file| artifact(file, &folders).map(|found| (found.uri, found.uri_base_id));
        for (file, uri) in [
            ("/data/me/proj/train.py", "train.py"),
            ("/home/me/proj/src/a b.py", "src/a%20b.py"),
            ("train.py", "train.py"),
            ("./src/../naïve.py", "na%C3%AFve.py"),
            ("a:b#?.py", "a%3Ab%23%3F.py"),
        ] {
            assert_eq!(located(file), Some((uri.to_owned(), Some(ROOT))), "{file}");
        }
        for (file, uri) in [
            ("/home/me/project/train.py", "file:///home/me/project/train.py"),
            ("/home/me/proj/../x.py", "file:///home/me/x.py"),
            ("../x%.py", "file:///data/me/x%25.py"),
            (r"C:\Users\me\train 1.py", "file:///C:/Users/me/train%201.py"),
            (r"\\host\share\train.py", "file://host/share/train.py"),
        ] {
            assert_eq!(located(file), Some((uri.to_owned(), None)), "{file}");
        }
        for file in ["", "<stdin>", "<frozen runpy>"] {
            assert_eq!(located(file), None, "{file}");
        }
        assert!(Location::of_file("standard input", &folders).is_none());
    }
}
