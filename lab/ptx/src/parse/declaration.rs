//! Declarations of parameters and memory: `.param .u64 .ptr .global .align 1 name`, `.align 16 .b8 name[64]`.

use crate::{
    error::Refused,
    token::{Token, number},
    value::Kind,
};

/// No declared memory is larger than this.
const LARGEST: usize = 1 << 20;

pub(crate) struct Declaration<'a> {
    pub(crate) name: &'a str,
    pub(crate) bytes: usize,
    pub(crate) align: usize,
}

impl<'a> Declaration<'a> {
    pub(crate) fn parse(tokens: &[Token<'a>]) -> Result<Self, Refused> {
        let refused = || Refused::new("a declaration of this form");
        let mut words = tokens.iter().copied().peekable();
        let (mut kind, mut align, mut pointer) = (None, None, false);
        let name = loop {
            let Some(Token::Word(word)) = words.next() else { return Err(refused()) };
            let Some(directive) = word.strip_prefix('.') else { break word };
            match directive {
                "align" => {
                    let Some(Token::Word(value)) = words.next() else { return Err(refused()) };
                    let value = number(value).ok_or_else(refused)? as usize;
                    // What a pointer points to is aligned, not the pointer.
                    align = align.or((!pointer).then_some(value));
                }
                "ptr" => pointer = true,
                "param" | "global" | "shared" | "const" | "local" => {}
                other => {
                    kind = Some(Kind::named(other).ok_or_else(|| Refused::new(word_of(other)))?);
                }
            }
        };
        let element = kind.ok_or_else(refused)?.size();
        let mut bytes = element;
        if words.next_if_eq(&Token::Mark('[')).is_some() {
            bytes = match words.next() {
                Some(Token::Word(count)) => {
                    let count = number(count).ok_or_else(refused)? as usize;
                    count.checked_mul(element).ok_or_else(refused)?
                }
                // Its length is the launch's.
                _ => 0,
            };
        }
        let align = align.unwrap_or(element);
        if !align.is_power_of_two() || align > LARGEST || bytes > LARGEST {
            return Err(refused());
        }
        Ok(Self { name, bytes, align })
    }
}

fn word_of(directive: &str) -> String {
    format!(".{directive}")
}
