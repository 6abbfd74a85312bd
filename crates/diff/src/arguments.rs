//! What a program was started with.

use std::collections::BTreeMap;

/// Options by their names, with their values; other words by their place. Of an interpreter, what stands behind the
/// program.
pub(crate) fn arguments(words: &[&str]) -> BTreeMap<String, String> {
    let program = words.iter().rposition(|word| word.ends_with(".py")).unwrap_or(0);
    let mut words = words.iter().skip(program + 1).peekable();
    let (mut found, mut place) = (BTreeMap::new(), 0);
    while let Some(word) = words.next() {
        if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with('-')) {
            found.insert(name.to_owned(), value.to_owned());
        } else if word.starts_with('-') {
            let value = words.next_if(|next| !next.starts_with('-')).copied().unwrap_or_default();
            found.insert((*word).to_owned(), value.to_owned());
        } else {
            place += 1;
            found.insert(format!("argument {place}"), (*word).to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_names_and_others_a_place() {
        let words =
            ["python", "-m", "x", "train.py", "data", "--batch", "8", "--lr=3", "--amp", "-v"];
        let found = arguments(&words);
        let expected =
            [("argument 1", "data"), ("--batch", "8"), ("--lr", "3"), ("--amp", ""), ("-v", "")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found, BTreeMap::from(expected));
    }
}
