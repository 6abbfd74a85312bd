//! Secrets behind names: `--token X`, `API_KEY=X`, `"password": "X"`, `Authorization: Bearer X`.

use std::ops::Range;

use crate::names::{Kind, kind};

/// What stands before the secret itself in a header.
const SCHEMES: &[&str] = &["basic", "bearer", "token"];
/// What no secret is.
const NOTHING: &[&str] = &["***", "None", "False", "True", "false", "null", "true"];
/// A word of chance has at least so many letters.
const CHANCE: usize = 32;
/// A token that stands in a sentence has at least so many.
const TOKEN: usize = 8;
/// By so many letters it is decided whether a word is a secret: a text of names that each could begin one is
/// looked through once.
const LOOKED_AT: usize = 256;
/// So many digits may be the port of an address.
const PORT: usize = 5;
/// So many digits may be a number of tokens.
const NUMBER: usize = 6;

/// How a name and its value are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    Equals,
    Colon,
    /// An option and the next word.
    Blank,
}

/// Where the values of such names are.
pub(crate) fn values(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(is_of_name).map(|start| at + start) {
        let rest = &text[start..];
        let end = start + rest.find(|one| !is_of_name(one)).unwrap_or(rest.len());
        let value = kind(&text[start..end]).and_then(|kind| value(text, start..end, kind));
        at = value.as_ref().map_or(end, |value| value.end.max(end));
        found.extend(value);
    }
    found
}

/// Whether a word of a command is an option or a variable with its secret in the same word: where that begins.
pub(crate) fn value_in_word(word: &str) -> Option<usize> {
    let (name, value) = word.split_once('=')?;
    if name.is_empty() || !name.chars().all(is_of_name) {
        return None;
    }
    is_secret(kind(name)?, Joint::Equals, value).then_some(name.len() + 1)
}

/// Whether the word behind this one is a secret.
pub(crate) fn announces(word: &str, next: &str) -> bool {
    let is_option = word.starts_with('-') && word.chars().all(is_of_name);
    is_option
        && !next.starts_with('-')
        && kind(word).is_some_and(|kind| is_secret(kind, Joint::Blank, next))
}

fn is_of_name(one: char) -> bool {
    one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.')
}

fn value(text: &str, name: Range<usize>, kind: Kind) -> Option<Range<usize>> {
    let is_option = text[name.clone()].starts_with('-');
    let (joint, from) = joint(&text[name.end..], is_option)?;
    let mut from = name.end + from;
    let mut found = word(text, from, LOOKED_AT);
    while SCHEMES.contains(&text[found.clone()].to_ascii_lowercase().as_str()) {
        from = found.end + blanks(&text[found.end..]);
        if from == found.end {
            return None;
        }
        found = word(text, from, LOOKED_AT);
    }
    let starts_option = joint == Joint::Blank && text[found.clone()].starts_with('-');
    let is_one = !starts_option && is_secret(kind, joint, &text[found.clone()]);
    is_one.then(|| found.start..word(text, from, usize::MAX).end)
}

/// What joins a name to its value, and where behind the name the value begins.
fn joint(behind: &str, is_option: bool) -> Option<(Joint, usize)> {
    let closed = behind.trim_start_matches(['"', '\'', '`', '\\', ']']);
    let sign = closed.trim_start_matches([' ', '\t']);
    let joint = match sign.as_bytes() {
        [b':', b':' | b'/', ..] => None,
        [b':', ..] => Some(Joint::Colon),
        [b'=', ..] => Some(Joint::Equals),
        _ => None,
    };
    if let Some(joint) = joint {
        let value = sign.trim_start_matches(['=', ':', '>']);
        let value = value.trim_start_matches([' ', '\t']);
        return Some((joint, behind.len() - value.len()));
    }
    (is_option && blanks(behind) > 0).then(|| (Joint::Blank, blanks(behind)))
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// The word at a place, or so much of it: to its closing quote where it has one.
fn word(text: &str, from: usize, most: usize) -> Range<usize> {
    let quote = text[from..].chars().find(|one| *one != '\\');
    let quote = quote.filter(|one| matches!(one, '"' | '\'' | '`'));
    let start = match quote {
        Some(quote) => from + text[from..].find(quote).map_or(0, |at| at + 1),
        None => from,
    };
    let ends = |one: char| match quote {
        Some(quote) => one == quote || one == '\n',
        None => one.is_whitespace() || "\"'`,;&)}]|<>".contains(one),
    };
    let room = text.floor_char_boundary(start.saturating_add(most).min(text.len()));
    start..start + text[start..room].find(ends).unwrap_or(room - start)
}

fn is_secret(kind: Kind, joint: Joint, value: &str) -> bool {
    if value.is_empty() || NOTHING.contains(&value) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits == value.len() && digits <= NUMBER;
    match kind {
        Kind::Secret => true,
        // A sentence about a token goes on in words.
        Kind::Token if joint == Joint::Colon => digits > 0 && value.len() >= TOKEN && !is_number,
        Kind::Token => !is_number,
        Kind::Login => (joint != Joint::Colon && is_login(value)) || is_of_chance(value, digits),
        Kind::Perhaps => is_of_chance(value, digits),
    }
}

/// `user:password`, and neither an address nor a file: those have a port or a folder there.
fn is_login(value: &str) -> bool {
    let Some((user, password)) = value.split_once(':') else { return false };
    let is_port = password.len() <= PORT && password.bytes().all(|one| one.is_ascii_digit());
    let is_name = |one: char| one.is_alphanumeric() || "_-.@+\\".contains(one);
    let is_path = password.starts_with(['/', '\\', ':']);
    !user.is_empty() && user.chars().all(is_name) && !is_port && !is_path
}

fn is_of_chance(value: &str, digits: usize) -> bool {
    let of_base64 = |one: u8| one.is_ascii_alphanumeric() || b"+=_-%".contains(&one);
    value.len() >= CHANCE
        && value.bytes().all(of_base64)
        && digits > 0
        && value.bytes().any(|one| one.is_ascii_alphabetic())
}
