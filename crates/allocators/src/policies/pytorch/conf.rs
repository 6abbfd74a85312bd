//! Allocator settings as text: the grammar of `PYTORCH_CUDA_ALLOC_CONF` and `PYTORCH_ALLOC_CONF`.
//!
//! PyTorch drops white space and splits the rest at `,`, `:`, `[` and `]`. An option is `KEY:VALUE` or `KEY:[A:B,…]`. Keys
//! are not checked here: each version of PyTorch has others.

use std::fmt;

/// Characters of keys and values besides letters and digits.
const OTHER_CHARACTERS: &str = "_.-+>";

/// Settings of PyTorch's allocator, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocatorConf {
    options: Vec<ConfOption>,
}

/// An option of the allocator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfOption {
    /// The name before the first colon.
    pub key: String,
    /// The text behind it, without white space: a value, or a list in brackets.
    pub value: String,
}

/// A reason why PyTorch does not read a text as settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfError {
    /// An option is not `KEY:VALUE`.
    #[error("'{0}' has no value; write NAME:VALUE, as in PYTORCH_CUDA_ALLOC_CONF")]
    NoValue(String),
    /// A bracket without its counterpart, or one within another.
    #[error("the brackets of '{0}' do not match")]
    Brackets(String),
    /// A character that no setting has.
    #[error("'{0}' is in no setting of PyTorch's allocator")]
    Character(char),
}

impl AllocatorConf {
    /// Reads the value of the variable.
    ///
    /// # Errors
    /// Names the part of the text that PyTorch would refuse.
    pub fn parse(text: &str) -> Result<Self, ConfError> {
        let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let mut options = Vec::new();
        for part in split_outside_brackets(&text)? {
            options.push(ConfOption::parse(part)?);
        }
        Ok(Self { options })
    }

    /// Returns the options in their order.
    #[must_use]
    pub fn options(&self) -> &[ConfOption] {
        &self.options
    }

    /// Returns the last value of a key, which is the one in effect. `None` if the key is not set.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        let last = self.options.iter().rfind(|option| option.key == key)?;
        Some(&last.value)
    }

    /// Removes all values of a key.
    pub fn remove(&mut self, key: &str) {
        self.options.retain(|option| option.key != key);
    }
}

impl ConfOption {
    fn parse(text: &str) -> Result<Self, ConfError> {
        let no_value = || ConfError::NoValue(text.to_owned());
        let (key, value) = text.split_once(':').ok_or_else(no_value)?;
        if key.is_empty() || value.is_empty() {
            return Err(no_value());
        }
        let is_list = value.starts_with('[') && value.ends_with(']');
        if key.contains(['[', ']']) || (!is_list && value.contains(['[', ']'])) {
            return Err(ConfError::Brackets(text.to_owned()));
        }
        if !is_list && value.contains(':') {
            return Err(no_value());
        }
        Ok(Self { key: key.to_owned(), value: value.to_owned() })
    }

    /// Returns the pairs of a list: `[256:1,>:8]` has (`256`, `1`) and (`>`, `8`). `None` if the value is no list of pairs.
    #[must_use]
    pub fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        let list = self.value.strip_prefix('[')?.strip_suffix(']')?;
        list.split(',').map(|pair| pair.split_once(':')).collect()
    }
}

impl fmt::Display for AllocatorConf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, ConfOption { key, value }) in self.options.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{key}:{value}")?;
        }
        Ok(())
    }
}

/// Returns the parts between the commas that are in no brackets. A comma at the end is allowed.
fn split_outside_brackets(text: &str) -> Result<Vec<&str>, ConfError> {
    let mismatch = || ConfError::Brackets(text.to_owned());
    let (mut parts, mut start, mut is_inside) = (Vec::new(), 0, false);
    for (index, c) in text.char_indices() {
        match c {
            '[' if !is_inside => is_inside = true,
            ']' if is_inside => is_inside = false,
            '[' | ']' => return Err(mismatch()),
            ',' if !is_inside => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            ',' | ':' => {}
            c if c.is_ascii_alphanumeric() || OTHER_CHARACTERS.contains(c) => {}
            c => return Err(ConfError::Character(c)),
        }
    }
    if is_inside {
        return Err(mismatch());
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    Ok(parts)
}

/// Two options that must not be set together.
struct Conflict {
    first: SetTo,
    second: SetTo,
    /// What happens with both, as the end of a sentence.
    why: &'static str,
}

/// An option set to a value, or to any value if `value` is `None`.
struct SetTo {
    key: &'static str,
    value: Option<&'static str>,
}

const EXPANDABLE: SetTo = SetTo { key: "expandable_segments", value: Some("True") };
const SPLIT_LIMIT: SetTo = SetTo { key: "max_split_size_mb", value: None };
const ROUNDUP: SetTo = SetTo { key: "roundup_power2_divisions", value: None };
const ASYNC: SetTo = SetTo { key: "backend", value: Some("cudaMallocAsync") };
const IGNORED: &str = "with which PyTorch ignores the new option";

/// Pairs of options that must not be set together, in all versions that have both.
const CONFLICTS: &[Conflict] = &[
    Conflict {
        first: EXPANDABLE,
        second: SPLIT_LIMIT,
        why: "with which reserved memory can grow without bound (pytorch#193400)",
    },
    Conflict { first: EXPANDABLE, second: ASYNC, why: IGNORED },
    Conflict { first: SPLIT_LIMIT, second: ASYNC, why: IGNORED },
    Conflict { first: ROUNDUP, second: ASYNC, why: IGNORED },
];

impl SetTo {
    fn is_in(&self, conf: &AllocatorConf) -> bool {
        conf.value(self.key).is_some_and(|found| self.value.is_none_or(|wanted| wanted == found))
    }

    fn is_option(&self, option: &ConfOption) -> bool {
        option.key == self.key && self.value.is_none_or(|wanted| wanted == option.value)
    }
}

/// Settings with one option more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// All settings.
    pub conf: AllocatorConf,
    /// Options that had to be left out, each with the reason.
    pub left_out: Vec<(ConfOption, &'static str)>,
}

/// Adds an option to the value of the variable. Everything else in it stays, but for what must not stand beside the
/// option.
///
/// # Errors
/// Names the part of a text that PyTorch would refuse.
pub fn merge(conf: &str, option: &str) -> Result<Merged, ConfError> {
    Ok(merge_parsed(AllocatorConf::parse(conf)?, AllocatorConf::parse(option)?))
}

/// Adds options to settings, as [`merge`] does.
#[must_use]
pub fn merge_parsed(mut conf: AllocatorConf, added: AllocatorConf) -> Merged {
    let mut left_out = Vec::new();
    for option in added.options {
        for Conflict { first, second, why } in CONFLICTS {
            for (new, old) in [(first, second), (second, first)] {
                if new.is_option(&option) && old.is_in(&conf) {
                    let value = conf.value(old.key).unwrap_or_default().to_owned();
                    left_out.push((ConfOption { key: old.key.to_owned(), value }, *why));
                    conf.remove(old.key);
                }
            }
        }
        conf.remove(&option.key);
        conf.options.push(option);
    }
    Merged { conf, left_out }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The settings of a serving operator.
    const OPERATOR: &str = "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],max_split_size_mb:128,\
                            expandable_segments_reserve:8";

    fn merged(conf: &str, option: &str) -> String {
        merge(conf, option).expect("settings").conf.to_string()
    }

    #[test]
    fn lists_and_similar_keys_are_kept() {
        let merged = merge(OPERATOR, "expandable_segments:True").expect("settings");
        assert_eq!(
            merged.conf.to_string(),
            "roundup_power2_divisions:[256:1,512:2,1024:4,>:8],expandable_segments_reserve:8,\
             expandable_segments:True"
        );
        let [(left_out, why)] = &merged.left_out[..] else { panic!("{merged:?}") };
        assert_eq!((left_out.key.as_str(), left_out.value.as_str()), ("max_split_size_mb", "128"));
        assert!(why.contains("193400"));
    }

    #[test]
    fn options_that_exclude_each_other_are_not_set_together() {
        for (conf, option, expected) in [
            ("", "expandable_segments:True", "expandable_segments:True"),
            (
                " backend : native , ",
                "max_split_size_mb:128",
                "backend:native,max_split_size_mb:128",
            ),
            ("expandable_segments:True", "max_split_size_mb:128", "max_split_size_mb:128"),
            (
                "expandable_segments:False",
                "max_split_size_mb:128",
                "expandable_segments:False,max_split_size_mb:128",
            ),
            (
                "expandable_segments:True,max_split_size_mb:64",
                "expandable_segments:False",
                "max_split_size_mb:64,expandable_segments:False",
            ),
            ("backend:cudaMallocAsync", "expandable_segments:True", "expandable_segments:True"),
            ("", "max_split_size_mb:64,expandable_segments:True", "expandable_segments:True"),
            (
                "max_split_size_mb:32,max_split_size_mb:64",
                "max_split_size_mb:128",
                "max_split_size_mb:128",
            ),
        ] {
            assert_eq!(merged(conf, option), expected, "{conf}");
        }
    }

    #[test]
    fn what_pytorch_refuses_is_refused() {
        for wrong in [
            "max_split_size_mb",
            "max_split_size_mb:",
            ":128",
            ",a:1",
            "a:1,,b:2",
            "a:[1:2",
            "a:1]",
            "a:[[1:2]]",
            "a:[1:2]3",
            "a:1:2",
            "a:$(touch x)",
            "a:1;b",
            "a:\u{202e}1",
        ] {
            assert!(AllocatorConf::parse(wrong).is_err(), "{wrong}");
        }
        assert!(AllocatorConf::parse("a:1,").is_ok(), "PyTorch takes a comma at the end");
    }

    #[test]
    fn lists_have_pairs() {
        let conf = AllocatorConf::parse(OPERATOR).expect("settings");
        let pairs = conf.options()[0].pairs().expect("a list");
        assert_eq!(pairs, [("256", "1"), ("512", "2"), ("1024", "4"), (">", "8")]);
        assert_eq!(conf.options()[1].pairs(), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(text in "[ab:,\\[\\]> 1_.]{0,40}") {
            if let Ok(conf) = AllocatorConf::parse(&text) {
                let written = conf.to_string();
                prop_assert_eq!(AllocatorConf::parse(&written), Ok(conf));
                let without_blanks = text.replace(' ', "");
                prop_assert_eq!(written, without_blanks.strip_suffix(',').unwrap_or(&without_blanks));
            }
        }

        #[test]
        fn an_option_is_added_and_nothing_else_changes(text in "[abc]:[12](,[abc]:\\[[12]:[12]\\]){0,4}") {
            let added = merged(&text, "expandable_segments:True");
            prop_assert_eq!(added, format!("{text},expandable_segments:True"));
        }
    }
}
