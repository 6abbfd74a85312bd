//! Text to kernels.

mod body;
mod cursor;
mod declaration;
mod operand;
pub(crate) mod scope;

pub(crate) use self::operand::Operand;
use self::{body::Body, cursor::Cursor, declaration::Declaration, scope::Scope};
use crate::{
    error::{NotPtx, Refused},
    kernel::{Kernel, Module},
    token::{Token, tokens},
};

impl Module {
    /// Parses a module's text.
    pub fn parse(text: &str) -> Result<Self, NotPtx> {
        module(text)
    }
}

fn module(text: &str) -> Result<Module, NotPtx> {
    let tokens = tokens(text);
    if !tokens.contains(&Token::Word(".version")) {
        return Err(NotPtx("it has no .version".to_owned()));
    }
    let mut cursor = Cursor::new(&tokens);
    let (mut module, mut scope) = (Module::default(), Scope::default());
    while let Some(token) = cursor.next() {
        match token {
            Token::Word(".entry") => {
                let name = cursor.word().ok_or_else(|| broken(".entry has no name"))?;
                if let Some(kernel) = entry(&mut cursor, scope.clone())? {
                    module.kernels.push((name.to_owned(), kernel));
                }
            }
            // A function of the device's own; kernels that call one are refused.
            Token::Word(".func") => _ = cursor.skip_function(),
            Token::Word(".shared") => {
                // Where it cannot be followed, the name stays unknown, and kernels that use it are refused.
                let declared = Declaration::parse(cursor.until(';'));
                let _ = declared.and_then(|declared| scope.declare_shared(&declared));
            }
            Token::Word(".global" | ".const") => _ = cursor.until(';'),
            _ => {}
        }
    }
    Ok(module)
}

fn broken(what: &str) -> NotPtx {
    NotPtx(what.to_owned())
}

/// A kernel; nothing where it is only announced.
fn entry<'a>(
    cursor: &mut Cursor<'_, 'a>,
    mut scope: Scope<'a>,
) -> Result<Option<Result<Kernel, Refused>>, NotPtx> {
    let mut refused = None;
    if cursor.take_mark('(') {
        for parameter in cursor.until(')').split(|token| *token == Token::Mark(',')) {
            if parameter.is_empty() {
                continue;
            }
            match Declaration::parse(parameter) {
                Ok(declared) => scope.declare_parameter(&declared),
                Err(error) => refused = Some(error),
            }
        }
    }
    if !cursor.skip_to_body() {
        return Ok(None);
    }
    let body = cursor.braced().ok_or_else(|| broken("a kernel has no end"))?;
    let kernel = match refused {
        Some(refused) => Err(refused),
        None => Body::new(scope).parse(body),
    };
    Ok(Some(kernel))
}

#[cfg(test)]
mod tests;
