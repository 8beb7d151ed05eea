//! `requires` in terms of the model.

use super::dom::{Node, Value};
use super::paths::{Path, Token};

/// Whether a document has all required paths.
pub(crate) fn fits(document: &Node, requires: &[Path]) -> bool {
    requires.iter().all(|path| has(document, &path.tokens, false))
}

/// `names_only`: the value was reached as the first element of an array, so no index applies.
fn has(node: &Node, path: &[Token], names_only: bool) -> bool {
    let Some((token, rest)) = path.split_first() else { return !names_only };
    match (&node.value, token) {
        (Value::Scalar(_), _) => false,
        (Value::Object(members), Token::Any) => {
            !names_only && members.first().is_some_and(|member| has(&member.node, rest, false))
        }
        (Value::Object(members), Token::Name(name)) => {
            let is_index = names_only && token.index().is_some();
            let named = members.iter().find(|member| member.name.as_ref() == Some(name));
            !is_index && named.is_some_and(|member| has(&member.node, rest, false))
        }
        (Value::Array(elements), Token::Any) => {
            !names_only && elements.first().is_some_and(|first| has(first, rest, false))
        }
        (Value::Array(elements), Token::Name(_)) => {
            let at = token.index().filter(|_| !names_only);
            let there = at.and_then(|at| elements.get(at));
            there.is_some_and(|element| has(element, rest, false))
                || elements.first().is_some_and(|first| has(first, path, true))
        }
    }
}
