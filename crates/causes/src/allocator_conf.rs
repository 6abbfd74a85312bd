//! Lines that set the variable of PyTorch's allocator.

use whyoom_allocators::policies::pytorch::{Merged, merge};

use crate::{finding::Remedy, shell_line::ShellLine};

/// Returns a remedy that adds an option to what the variable has. What PyTorch would not read, such as a value that a log
/// cut off, cannot be kept: the line is an example then.
pub(crate) fn add_to_conf(conf: &str, option: &str, variable: &str, what: &str) -> Remedy {
    let line = |value: &str| ShellLine::new("export").word(format!("{variable}={value}"));
    let Ok(Merged { conf, left_out }) = merge(conf, option) else {
        let what = format!("{what}; add it to what {variable} has already");
        return match line(option).text() {
            Some(text) => Remedy::example(text, what),
            None => Remedy::advice(what),
        };
    };
    let mut what = what.to_owned();
    for (left_out, why) in left_out {
        what.push_str(&format!("; without {}, {why}", left_out.key));
    }
    Remedy::command(line(&conf.to_string()), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_stays_and_is_quoted() {
        let conf = "roundup_power2_divisions:[256:1,>:8],max_split_size_mb:128";
        let remedy = add_to_conf(conf, "expandable_segments:True", "V", "lets blocks merge");
        assert_eq!(
            remedy.paste.as_deref(),
            Some("export 'V=roundup_power2_divisions:[256:1,>:8],expandable_segments:True'")
        );
        assert!(remedy.what.contains("merge; without max_split_size_mb, with which"), "{remedy:?}");
    }

    #[test]
    fn what_cannot_be_read_is_not_dropped_without_a_word() {
        let remedy = add_to_conf("$OLD", "expandable_segments:True", "V", "lets blocks merge");
        assert_eq!(remedy.paste, None);
        assert_eq!(remedy.example.as_deref(), Some("export V=expandable_segments:True"));
    }
}
