//! Operands of an instruction.

use super::{cursor::Cursor, scope::Scope};
use crate::{
    error::Refused,
    step::{Register, Source},
    token::{Token, number},
};

/// An operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand<'a> {
    /// A value, a register or a symbol.
    Value(Source),
    /// A predicate that counts the other way round.
    Negated(Source),
    /// `{a, b}`; nothing where a part is not wanted.
    Vector(Vec<Option<Source>>),
    /// `[base + offset]`.
    Address(Source, u64),
    /// `a|b`.
    Pair(Option<Register>, Option<Register>),
    /// `_`: not wanted.
    Sink,
    /// A name that stands for nothing yet: a label.
    Name(&'a str),
}

/// All operands up to the end of the tokens.
pub(crate) fn operands<'a>(
    tokens: &[Token<'a>],
    scope: &Scope<'_>,
) -> Result<Vec<Operand<'a>>, Refused> {
    let mut cursor = Cursor::new(tokens);
    let mut found = Vec::new();
    while cursor.peek().is_some() {
        found.push(operand(&mut cursor, scope)?);
        if cursor.peek().is_some() && !cursor.take_mark(',') {
            return Err(Refused::new("an operand of this form"));
        }
    }
    Ok(found)
}

fn operand<'a>(cursor: &mut Cursor<'_, 'a>, scope: &Scope<'_>) -> Result<Operand<'a>, Refused> {
    if cursor.take_mark('{') {
        let parts = cursor.until('}').split(|token| *token == Token::Mark(','));
        let part = |tokens: &[Token<'a>]| match tokens {
            [Token::Word("_")] => Ok(None),
            tokens => value(&mut Cursor::new(tokens), scope).map(Some),
        };
        return parts.map(part).collect::<Result<_, _>>().map(Operand::Vector);
    }
    if cursor.take_mark('[') {
        let mut inside = Cursor::new(cursor.until(']'));
        let base = value(&mut inside, scope)?;
        let offset = if inside.take_mark('+') { constant(&mut inside)? } else { 0 };
        if inside.peek().is_some() {
            return Err(Refused::new("an address of this form"));
        }
        return Ok(Operand::Address(base, offset));
    }
    if cursor.take_mark('!') {
        return value(cursor, scope).map(Operand::Negated);
    }
    let register = |word: &str| scope.register(word);
    if let Some(Token::Word(word)) = cursor.peek() {
        let known = register(word).is_some();
        if word == "_" || known {
            cursor.next();
            if cursor.take_mark('|') {
                let second = cursor.word().and_then(register);
                return Ok(Operand::Pair(register(word), second));
            }
            return Ok(
                register(word).map_or(Operand::Sink, |it| Operand::Value(Source::Register(it)))
            );
        }
        if number(word).is_none() && scope.source(word).is_err() {
            cursor.next();
            return Ok(Operand::Name(word));
        }
    }
    value(cursor, scope).map(Operand::Value)
}

fn value(cursor: &mut Cursor<'_, '_>, scope: &Scope<'_>) -> Result<Source, Refused> {
    if let Some(Token::Word(word)) = cursor.peek()
        && number(word).is_none()
    {
        cursor.next();
        return scope.source(word);
    }
    constant(cursor).map(Source::Constant)
}

fn constant(cursor: &mut Cursor<'_, '_>) -> Result<u64, Refused> {
    let negative = cursor.take_mark('-');
    let found =
        cursor.word().and_then(number).ok_or_else(|| Refused::new("a constant of this form"))?;
    Ok(if negative { found.wrapping_neg() } else { found })
}
