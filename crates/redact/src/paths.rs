//! Paths as they are told to others: without the folders above a project, which name people and machines.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
};

/// Folders of installed Python packages.
const PACKAGES: [&str; 2] = ["/site-packages/", "/dist-packages/"];
/// Where Python's own library is, before its version.
const STANDARD_LIBRARY: &str = "/lib/python3";
/// Folders with a folder for each person.
const HOMES: [&str; 3] = ["home", "Users", "users"];
/// Home folders of their own.
const ROOT: &str = "/root";
/// Folders that everybody has: they say nothing, and are no projects.
const COMMON: [&str; 12] = [
    "/bin", "/data", "/etc", "/home", "/lib", "/mnt", "/opt", "/srv", "/tmp", "/Users", "/usr",
    "/var",
];

/// Which folders are left out of paths.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    /// Without a slash at their ends, the longest first.
    left_out: Vec<String>,
    /// Whose home folder is not where home folders usually are.
    homes: Vec<String>,
    /// What call sites name by its folder and name: how it is told instead.
    short: HashMap<String, String>,
}

impl Paths {
    /// Leaves out this folder: what is in it is told from there on.
    #[must_use]
    pub fn without(mut self, folder: &str) -> Self {
        let folder = folder.trim_end_matches('/');
        if folder.starts_with('/') && !COMMON.contains(&folder) {
            self.left_out.push(folder.to_owned());
            self.left_out.sort_by_key(|folder| std::cmp::Reverse(folder.len()));
            self.left_out.dedup();
        }
        self
    }

    /// Tells this folder as `~`.
    #[must_use]
    pub fn with_home(mut self, folder: &str) -> Self {
        let folder = folder.trim_end_matches('/');
        if folder.starts_with('/') && !COMMON.contains(&folder) {
            self.homes.push(folder.to_owned());
        }
        self
    }

    /// Leaves out the folder that all of a program's own files are in.
    #[must_use]
    pub fn with_files<'a>(mut self, files: impl IntoIterator<Item = &'a str>) -> Self {
        let files: BTreeSet<&str> =
            files.into_iter().filter(|file| file.starts_with('/')).collect();
        let own = files.iter().copied().filter(|file| is_own(file));
        if let Some(project) = common_folder(own) {
            self = self.without(&project);
        }
        for file in files {
            let (told, short) = (self.shorten(file).into_owned(), folder_and_name(file));
            if !told.ends_with(short) {
                self.short.entry(short.to_owned()).or_insert(told);
            }
        }
        self
    }

    /// A text with the paths in it shortened.
    #[must_use]
    pub fn shorten<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains('/') {
            return Cow::Borrowed(text);
        }
        let (mut told, mut rest, mut before) = (String::with_capacity(text.len()), text, None);
        while !rest.is_empty() {
            let word = word_of(rest);
            let (kept, used) = match word.len() {
                0 => (None, rest.chars().next().map_or(1, char::len_utf8)),
                length if before == Some(':') && word.starts_with("//") => {
                    // Of an address, all of it; of file:///home, what is before its path.
                    (None, if word.starts_with("///") { 2 } else { length })
                }
                // What stands directly before a path: -I/usr/include, @/tmp/arguments.
                _ if word.starts_with(['-', '+', '@', '#']) && word.contains('/') => {
                    (None, word.find('/').unwrap_or(1))
                }
                length => match self.path(rest, word) {
                    Some((told, replaced)) => (Some(told), replaced),
                    None => (None, length),
                },
            };
            let old = &rest[..used];
            told.push_str(kept.as_deref().unwrap_or(old));
            before = old.chars().last();
            rest = &rest[used..];
        }
        if told == text { Cow::Borrowed(text) } else { Cow::Owned(told) }
    }

    /// What is told instead of the beginning of a text, and how much of it that replaces.
    fn path(&self, rest: &str, word: &str) -> Option<(String, usize)> {
        if !word.starts_with('/') {
            // A sentence may end behind it.
            let name = word.trim_end_matches('.');
            return self.short.get(name).map(|told| (told.clone(), name.len()));
        }
        if let Some(at) = library(word) {
            return Some((String::new(), at));
        }
        for folder in &self.left_out {
            match rest.strip_prefix(folder.as_str()) {
                Some(inner) if inner.starts_with('/') => {
                    let more = word_of(&inner[1..]).is_empty();
                    return Some((if more { "./" } else { "" }.to_owned(), folder.len() + 1));
                }
                Some(inner) if word_of(inner).is_empty() => {
                    return Some((".".to_owned(), folder.len()));
                }
                _ => {}
            }
        }
        let own = self.homes.iter().find(|home| is_in(word, home)).map(String::len);
        own.or_else(|| home(word)).map(|length| ("~".to_owned(), length))
    }
}

/// What a path may consist of, as far as it can be told from the text around it.
fn word_of(text: &str) -> &str {
    let inside = |one: char| one.is_alphanumeric() || "/_-.+@%~$#".contains(one);
    &text[..text.find(|one| !inside(one)).unwrap_or(text.len())]
}

/// Where the part begins that names a module of an installed package, or of Python's own library.
fn library(word: &str) -> Option<usize> {
    let package = |folder: &&str| word.rfind(*folder).map(|at| at + folder.len());
    let standard = || {
        let at = word.find(STANDARD_LIBRARY)? + "/lib/".len();
        word[at..].contains('/').then_some(at)
    };
    PACKAGES.iter().find_map(package).or_else(standard)
}

/// How long the home folder is that a path begins with.
fn home(word: &str) -> Option<usize> {
    if is_in(word, ROOT) {
        return Some(ROOT.len());
    }
    // Also where it is mounted: /mnt/home/alice.
    let mut parts = word.match_indices('/').map(|(at, _)| at).take(3);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
    let named = |from: usize, to: usize| HOMES.contains(&&word[from + 1..to]);
    let from =
        if named(first, second) { second } else { third.filter(|&third| named(second, third))? };
    let name = word[from + 1..].split('/').next().unwrap_or_default();
    let end = from + 1 + name.len();
    let is_file = end == word.len() && name.ends_with(".py");
    (!name.is_empty() && !is_file).then_some(end)
}

fn is_in(word: &str, folder: &str) -> bool {
    word.strip_prefix(folder).is_some_and(|inner| inner.is_empty() || inner.starts_with('/'))
}

/// Whether a file is the program's, and not an installed package's or a notebook's.
fn is_own(file: &str) -> bool {
    file.ends_with(".py") && library(file).is_none() && !file.contains("/ipykernel_")
}

fn common_folder<'a>(files: impl Iterator<Item = &'a str>) -> Option<String> {
    let folder = |file: &'a str| file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let common = |one: &'a str, other: &'a str| {
        let mut length = 0;
        for (mine, theirs) in one.split('/').zip(other.split('/')) {
            if mine != theirs {
                break;
            }
            length += mine.len() + 1;
        }
        &one[..length.saturating_sub(1)]
    };
    files.map(folder).reduce(common).filter(|folder| !folder.is_empty()).map(str::to_owned)
}

/// The end of a path that call sites tell.
fn folder_and_name(path: &str) -> &str {
    path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Paths {
        Paths::default().with_files([
            "/home/alice/project/train.py",
            "/home/alice/project/model/block.py",
            "/home/alice/env/lib/python3.11/site-packages/torch/nn/modules/linear.py",
            "/usr/lib/python3.11/threading.py",
            "/tmp/ipykernel_71/1.py",
            "<string>",
        ])
    }

    #[test]
    fn paths_are_told_from_the_project_on() {
        let pairs = [
            ("/home/alice/project/train.py", "train.py"),
            ("/home/alice/project/model/block.py", "model/block.py"),
            ("/home/alice/env/lib/python3.11/site-packages/torch/nn/a.py", "torch/nn/a.py"),
            ("/usr/lib/python3.11/threading.py", "python3.11/threading.py"),
            ("/usr/lib/libc.so.6", "/usr/lib/libc.so.6"),
            (
                "python /home/alice/project/train.py --to=/home/alice/out",
                "python train.py --to=~/out",
            ),
            ("cd /home/alice/project && ls /home/alice/project/", "cd . && ls ./"),
            ("PYTHONPATH=/home/alice/a:/mnt/home/bob/b:/root", "PYTHONPATH=~/a:~/b:~"),
            ("File \"/Users/bob/x.py\", line 3", "File \"~/x.py\", line 3"),
            ("/home/alice/projects/x.py", "~/projects/x.py"),
            ("/home/train.py", "/home/train.py"),
            ("/homework/alice", "/homework/alice"),
            ("see https://example.org/home/alice", "see https://example.org/home/alice"),
            ("file:///home/alice/a", "file://~/a"),
            ("cc -I/home/alice/a @/home/alice/b", "cc -I~/a @~/b"),
            ("a and/or b / c", "a and/or b / c"),
        ];
        for (path, told) in pairs {
            assert_eq!(paths().shorten(path), told);
        }
    }

    #[test]
    fn call_sites_name_files_as_frames_do() {
        let told = paths();
        assert_eq!(told.shorten("project/train.py:61 remember"), "train.py:61 remember");
        assert_eq!(told.shorten("made by project/train.py."), "made by train.py.");
        assert_eq!(told.shorten("model/block.py:3 forward"), "model/block.py:3 forward");
        assert_eq!(told.shorten("my-project/train.py:61"), "my-project/train.py:61");
        let at_home = Paths::default().with_files(["/home/alice/a.py", "/opt/b/c.py"]);
        assert_eq!(at_home.shorten("alice/a.py:1 f, b/c.py:2 g"), "~/a.py:1 f, b/c.py:2 g");
    }

    #[test]
    fn folders_are_left_out_as_whole_names() {
        let told =
            Paths::default().without("/scratch/run").without("/scratch/run/in/").without("/");
        assert_eq!(
            told.shorten("/scratch/run/in/a /scratch/running/b /scratch/run"),
            "a /scratch/running/b ."
        );
        assert_eq!(told.shorten("/x"), "/x");
        let spaced = Paths::default().without("/scratch/my run").with_home("/people/bob");
        assert_eq!(
            spaced.shorten("/scratch/my run/a.py, /people/bob/b, /people/bobby"),
            "a.py, ~/b, /people/bobby"
        );
        assert_eq!(
            Paths::default().with_files(["/usr/a.py", "/opt/b.py"]).shorten("/usr/a.py"),
            "/usr/a.py"
        );
    }
}
