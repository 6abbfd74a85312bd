//! The statements of a kernel.

use std::collections::HashMap;

use super::{cursor::Cursor, declaration::Declaration, operand::operands, scope::Scope};
use crate::{
    decode::{Instruction, decode},
    error::Refused,
    kernel::Kernel,
    step::{Guarded, Step},
    token::{Token, number},
    value::Kind,
};

/// Blocks in blocks are no deeper than this.
const DEEPEST: usize = 64;

pub(crate) struct Body<'a> {
    scope: Scope<'a>,
    code: Vec<Guarded>,
    labels: HashMap<&'a str, usize>,
    /// Branches whose label may come later.
    branches: Vec<(usize, &'a str)>,
}

impl<'a> Body<'a> {
    pub(crate) fn new(scope: Scope<'a>) -> Self {
        Self { scope, code: Vec::new(), labels: HashMap::new(), branches: Vec::new() }
    }

    pub(crate) fn parse(mut self, tokens: &[Token<'a>]) -> Result<Kernel, Refused> {
        self.block(tokens, 0)?;
        self.code.push(Guarded { guard: None, step: Step::Exit });
        for (at, label) in &self.branches {
            let target = self.labels.get(label).ok_or_else(|| Refused::new(*label))?;
            self.code[*at].step = Step::Branch(*target);
        }
        let Scope { parameters, registers, shared, local, .. } = self.scope;
        Ok(Kernel { code: self.code, parameters, registers: registers.len(), shared, local })
    }

    fn block(&mut self, tokens: &[Token<'a>], depth: usize) -> Result<(), Refused> {
        if depth > DEEPEST {
            return Err(Refused::new("so many blocks in blocks"));
        }
        self.scope.open();
        let mut cursor = Cursor::new(tokens);
        while let Some(token) = cursor.peek() {
            match token {
                Token::Mark('{') => {
                    cursor.next();
                    let inner =
                        cursor.braced().ok_or_else(|| Refused::new("a block without an end"))?;
                    self.block(inner, depth + 1)?;
                }
                Token::Mark(';') => _ = cursor.next(),
                _ => self.statement(&mut cursor)?,
            }
        }
        self.scope.close();
        Ok(())
    }

    fn statement(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<(), Refused> {
        let guard = if cursor.take_mark('@') {
            let wanted = !cursor.take_mark('!');
            let name = cursor.word().unwrap_or_default();
            let register = self.scope.register(name).ok_or_else(|| Refused::new(name))?;
            Some((register, wanted))
        } else {
            None
        };
        let word = cursor.word().ok_or_else(|| Refused::new("a statement of this form"))?;
        if cursor.take_mark(':') {
            // Blocks may repeat a label for themselves; branches are resolved without regard to blocks.
            return match self.labels.insert(word, self.code.len()) {
                Some(_) => Err(Refused::new(format!("the label {word} twice"))),
                None => Ok(()),
            };
        }
        let rest = cursor.until(';');
        match word {
            ".reg" => self.registers(rest),
            ".shared" => {
                Declaration::parse(rest).and_then(|declared| self.scope.declare_shared(&declared))
            }
            ".local" => {
                Declaration::parse(rest).map(|declared| self.scope.declare_local(&declared))
            }
            ".pragma" => Ok(()),
            _ => self.instruction(guard, word, rest),
        }
    }

    fn instruction(
        &mut self,
        guard: Option<(u32, bool)>,
        name: &'a str,
        rest: &[Token<'a>],
    ) -> Result<(), Refused> {
        let operands = operands(rest, &self.scope).map_err(|_| Refused::new(name));
        // The name of what is unknown says more than its operands do.
        let known = Instruction { name, operands: operands.clone().unwrap_or_default() };
        let decoded = decode(&known, &mut self.scope);
        operands?;
        let decoded = decoded?;
        if let Some(label) = decoded.label {
            self.branches.push((self.code.len(), label));
        }
        self.code.extend(decoded.steps.into_iter().map(|step| Guarded { guard, step }));
        Ok(())
    }

    /// `.reg .b32 %r<9>, tmp;`
    fn registers(&mut self, tokens: &[Token<'a>]) -> Result<(), Refused> {
        let refused = || Refused::new(".reg of this form");
        let mut cursor = Cursor::new(tokens);
        let kind = cursor.word().and_then(|word| word.strip_prefix('.')).ok_or_else(refused)?;
        let kind = Kind::named(kind).ok_or_else(|| Refused::new(format!(".reg .{kind}")))?;
        loop {
            let name = cursor.word().ok_or_else(refused)?;
            let count = if cursor.take_mark('<') {
                let count = cursor.word().and_then(number).ok_or_else(refused)?;
                cursor.take_mark('>');
                Some(usize::try_from(count).map_err(|_| refused())?)
            } else {
                None
            };
            self.scope.declare_registers(name, count, kind)?;
            if !cursor.take_mark(',') {
                return Ok(());
            }
        }
    }
}
