//! Lines that set the variable of PyTorch's allocator.

use whyoom_allocators::policies::pytorch::{
    AllocatorConf, ConfError, Release, merge_parsed, needs_release, takes,
};

use crate::{finding::Remedy, shell_line::ShellLine};

/// The variable of PyTorch's allocator in a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfVariable<'a> {
    /// The variable to set, which PyTorch reads.
    pub(crate) name: &'static str,
    /// The variable that is set now. It is another one if PyTorch reads several.
    pub(crate) set_now: &'static str,
    /// True if another variable would be in effect if this one were not set. One that is set and empty hides it, too.
    pub(crate) hides_another: bool,
    /// The value of the variable that is set now.
    pub(crate) value: &'a str,
    /// The release of PyTorch that reads it. `None` if it is not known.
    pub(crate) release: Option<Release>,
}

/// Options that are to be added, by what the release makes of them.
#[derive(Default)]
struct Added {
    taken: AllocatorConf,
    /// Keys that the release refuses, and the variable with them.
    refused: Vec<String>,
    /// Keys that were not measured with the release.
    unknown: Vec<String>,
}

impl ConfVariable<'_> {
    /// Returns a remedy that adds options to what the variable has. An option that the release refuses is left out. The
    /// line is an example where it is not known whether PyTorch takes it: if the release is not known, and if the
    /// variable has something that cannot be read, such as a value that a log cut off.
    pub(crate) fn add(&self, options: &str, what: &str) -> Remedy {
        let Ok(added) = self.sort(options) else { return Remedy::advice(what) };
        let mut what = what.to_owned();
        for key in &added.refused {
            what.push_str(&format!("; without {key}, {}", self.why_refused(key)));
        }
        for key in &added.unknown {
            what.push_str(&format!("; {}", needs_release(key)));
        }
        if added.taken.options().is_empty() {
            return Remedy::advice(what);
        }
        let Ok(conf) = AllocatorConf::parse(self.value) else {
            let what = format!("{what}; add it to what {} has already", self.name);
            return self.example(&added.taken, what);
        };
        let merged = merge_parsed(conf, added.taken);
        for (left_out, why) in merged.left_out {
            what.push_str(&format!("; without {}, {why}", left_out.key));
        }
        if !added.unknown.is_empty() {
            return self.example(&merged.conf, what);
        }
        Remedy::command(self.line(&merged.conf), what)
    }

    /// Returns a remedy that takes a key out of the variable. Returns `None` if the variable does not have the key, or
    /// cannot be read.
    pub(crate) fn without(&self, key: &str, what: &str) -> Option<Remedy> {
        let mut conf = AllocatorConf::parse(self.value).ok()?;
        conf.value(key)?;
        conf.remove(key);
        let what = removes(key, what);
        if conf.options().is_empty() && !self.hides_another {
            let line = ShellLine::new("unset").literal(" ").literal(self.set_now);
            return Some(Remedy::command(line, what));
        }
        Some(Remedy::command(self.line(&conf), what))
    }

    /// Sorts options by what the release makes of them.
    fn sort(&self, options: &str) -> Result<Added, ConfError> {
        let mut added = Added { taken: AllocatorConf::parse(options)?, ..Added::default() };
        let keys: Vec<String> =
            added.taken.options().iter().map(|option| option.key.clone()).collect();
        let now = AllocatorConf::parse(self.value).unwrap_or_default();
        for key in keys {
            // PyTorch has taken what is set now.
            if now.value(&key).is_some() {
                continue;
            }
            match takes(self.release, &key) {
                Some(true) => {}
                Some(false) => {
                    added.taken.remove(&key);
                    added.refused.push(key);
                }
                None => added.unknown.push(key),
            }
        }
        Ok(added)
    }

    fn why_refused(&self, key: &str) -> String {
        let here = self.release.map_or_else(String::new, |release| format!(" {release}"));
        format!("which PyTorch{here} refuses ({})", needs_release(key))
    }

    fn line(&self, conf: &AllocatorConf) -> ShellLine {
        ShellLine::new("export").word(format!("{}={conf}", self.name))
    }

    fn example(&self, conf: &AllocatorConf, what: String) -> Remedy {
        match self.line(conf).text() {
            Some(text) => Remedy::example(text, what),
            None => Remedy::advice(what),
        }
    }
}

/// Returns the words for a line that takes a key out of the variable.
pub(crate) fn removes(key: &str, what: &str) -> String {
    format!("removes {key}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable<'a>(value: &'a str, release: &str) -> ConfVariable<'a> {
        ConfVariable {
            name: "V",
            set_now: "OLD_V",
            hides_another: false,
            value,
            release: Release::parse(release),
        }
    }

    #[test]
    fn what_is_set_stays_and_is_quoted() {
        let conf = "roundup_power2_divisions:[256:1,>:8],max_split_size_mb:128";
        let remedy = variable(conf, "").add("expandable_segments:True", "lets blocks merge");
        assert_eq!(
            remedy.paste.as_deref(),
            Some("export 'V=roundup_power2_divisions:[256:1,>:8],expandable_segments:True'")
        );
        assert!(remedy.what.contains("merge; without max_split_size_mb, with which"), "{remedy:?}");
    }

    #[test]
    fn what_cannot_be_read_is_not_dropped_without_a_word() {
        let remedy = variable("$OLD", "").add("expandable_segments:True", "lets blocks merge");
        assert_eq!(remedy.paste, None);
        assert_eq!(remedy.example.as_deref(), Some("export V=expandable_segments:True"));
    }

    #[test]
    fn a_key_is_taken_out() {
        let both = variable("max_split_size_mb:64,backend:native", "");
        let line = both.without("max_split_size_mb", "").expect("it is set").paste;
        assert_eq!(line.as_deref(), Some("export V=backend:native"));
        let alone = variable("max_split_size_mb:64", "").without("max_split_size_mb", "");
        assert_eq!(alone.expect("it is set").paste.as_deref(), Some("unset OLD_V"));
        assert_eq!(both.without("expandable_segments", ""), None);
        let hiding = ConfVariable { hides_another: true, ..variable("backend:native", "") };
        let line = hiding.without("backend", "").expect("it is set").paste;
        assert_eq!(line.as_deref(), Some("export V="));
    }

    #[test]
    fn what_a_release_refuses_is_not_advised() {
        let option = "per_process_memory_fraction:0.90";
        let old = variable("backend:native", "2.9.1").add(option, "a higher limit");
        assert_eq!((old.paste, old.example), (None, None));
        assert!(old.what.contains("which PyTorch 2.9.1 refuses"), "{}", old.what);
        let new = variable("backend:native", "2.10.0+cu128").add(option, "a higher limit");
        let line = "export V=backend:native,per_process_memory_fraction:0.90";
        assert_eq!(new.paste.as_deref(), Some(line));
        // A version that was not measured.
        for release in ["", "2.16.0"] {
            let unknown = variable("", release).add(option, "a higher limit");
            assert_eq!(unknown.paste, None);
            assert!(unknown.example.is_some() && unknown.what.contains("2.10.0 or newer"));
        }
        let raised = variable("per_process_memory_fraction:0.50", "").add(option, "a higher limit");
        assert_eq!(raised.paste.as_deref(), Some("export V=per_process_memory_fraction:0.90"));
        let both = variable("", "2.9.1")
            .add("large_segment_size_mb:64,expandable_segments:True", "has the settings of both");
        assert_eq!(both.paste.as_deref(), Some("export V=expandable_segments:True"));
        assert!(both.what.contains("without large_segment_size_mb"), "{}", both.what);
    }
}
