//! A place among tokens.

use crate::token::Token;

pub(crate) struct Cursor<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'t, 'a> Cursor<'t, 'a> {
    pub(crate) fn new(tokens: &'t [Token<'a>]) -> Self {
        Self { tokens, at: 0 }
    }

    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    pub(crate) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    pub(crate) fn word(&mut self) -> Option<&'a str> {
        let Some(Token::Word(word)) = self.peek() else { return None };
        self.at += 1;
        Some(word)
    }

    /// Goes past a mark, if it is next.
    pub(crate) fn take_mark(&mut self, mark: char) -> bool {
        let is_next = self.peek() == Some(Token::Mark(mark));
        self.at += usize::from(is_next);
        is_next
    }

    /// What comes before a mark, which is gone past.
    pub(crate) fn until(&mut self, mark: char) -> &'t [Token<'a>] {
        let rest = &self.tokens[self.at..];
        let length = rest.iter().position(|token| *token == Token::Mark(mark));
        self.at += length.map_or(rest.len(), |length| length + 1);
        &rest[..length.unwrap_or(rest.len())]
    }

    /// What stands in braces, behind the opening one.
    pub(crate) fn braced(&mut self) -> Option<&'t [Token<'a>]> {
        let start = self.at;
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') => depth -= 1,
                _ => {}
            }
        }
        Some(&self.tokens[start..self.at - 1])
    }

    /// Goes past the opening brace of a body; false where a declaration ends without one.
    pub(crate) fn skip_to_body(&mut self) -> bool {
        while let Some(token) = self.next() {
            match token {
                Token::Mark('{') => return true,
                Token::Mark(';') => return false,
                _ => {}
            }
        }
        false
    }

    /// Goes past a function.
    pub(crate) fn skip_function(&mut self) -> Option<()> {
        if self.skip_to_body() {
            self.braced()?;
        }
        Some(())
    }
}
