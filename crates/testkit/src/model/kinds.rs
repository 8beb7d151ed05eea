//! `on_kind: keep` in terms of the model.

use super::dom::{Node, Value};
use super::eval::State;
use super::paths::Token;

/// The use of a value of another kind than a path needs, for the rest of the path.
#[derive(Clone, Copy)]
pub(crate) enum OtherKind {
    Itself,
    Each,
    OnlyElement,
}

impl State<'_> {
    /// The use of a value for the rest of the followed path, if it is of another kind than that needs.
    pub(crate) fn other_kind(&self, node: &Node, path: &[Token]) -> Option<OtherKind> {
        if !self.rules.keeps_kinds {
            return None;
        }
        let position = self.followed.0.len() - path.len();
        match (path.first()?, &node.value) {
            (_, Value::Scalar(_)) => Some(OtherKind::Itself),
            (token @ Token::Name(_), Value::Array(_)) if token.index().is_none() => {
                Some(OtherKind::Each)
            }
            (Token::Any, Value::Object(_)) if self.brackets.contains(&position) => {
                Some(OtherKind::OnlyElement)
            }
            _ => None,
        }
    }

    /// The output of a path at a value of another kind.
    pub(crate) fn keep(&mut self, node: &Node, path: &[Token], kind: OtherKind) -> Node {
        if let OtherKind::Itself = kind {
            self.kinds_kept += 1;
            self.seen.value = true;
            return node.clone();
        }
        self.seen.containers = true;
        let mut found = Vec::new();
        self.gather_kept(node, path, kind, &mut found);
        Node { at: node.at, value: Value::Array(found) }
    }

    /// Adds what a value of another kind is inside an array of values.
    pub(crate) fn gather_kept(
        &mut self,
        node: &Node,
        path: &[Token],
        kind: OtherKind,
        found: &mut Vec<Node>,
    ) {
        self.kinds_kept += 1;
        match (kind, &node.value) {
            (OtherKind::Each, Value::Array(elements)) => {
                elements.iter().for_each(|element| self.gather(element, path, found));
            }
            (OtherKind::OnlyElement, _) => {
                // Several arrays around one object are one.
                let mut rest = &path[1..];
                while self.brackets.contains(&(self.followed.0.len() - rest.len())) {
                    rest = &rest[1..];
                }
                self.gather(node, rest, found);
            }
            _ => {
                self.seen.value = true;
                found.push(node.clone());
            }
        }
    }
}
