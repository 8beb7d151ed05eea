//! Projections in terms of the model: fields of fields, and functions that recurse over them.

use std::collections::BTreeSet;

use super::dom::{Member, Node, Value, quote};
use super::eval::State;
use super::fields::{Field, reported};
use super::paths::Token;
use super::rules::Source;

/// The results of a projection in one item.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) leaves: BTreeSet<String>,
    pub(crate) skipped: usize,
}

impl State<'_> {
    /// Returns the part of a source's value that its projection keeps.
    pub(crate) fn projected(
        &mut self,
        node: &Node,
        number: usize,
        source: &Source,
        found: &mut Found,
    ) -> Option<Node> {
        let path = &source.path.tokens;
        if !path.contains(&Token::Any) {
            return self.in_braces(node, &source.fields, (path, number), true, found);
        }
        let Value::Array(elements) = &node.value else {
            let leaves = source.leaves();
            found.leaves.extend(leaves);
            return Some(node.clone());
        };
        let mut kept = Vec::new();
        for element in elements {
            let fields = &source.fields;
            self.in_element(element, fields, (path, number), found, &mut kept);
        }
        Some(Node { at: node.at, value: Value::Array(kept) })
    }

    /// Adds what braces keep of an element. With `on_kind: keep` an array inside an array adds its elements.
    fn in_element(
        &mut self,
        element: &Node,
        fields: &[Field],
        from: (&[Token], usize),
        found: &mut Found,
        kept: &mut Vec<Node>,
    ) {
        match &element.value {
            Value::Array(elements) if self.rules.keeps_kinds => {
                self.kinds_kept += 1;
                for element in elements {
                    self.in_element(element, fields, from, found, kept);
                }
            }
            _ => kept.extend(self.in_braces(element, fields, from, false, found)),
        }
    }

    fn in_braces(
        &mut self,
        node: &Node,
        fields: &[Field],
        from: (&[Token], usize),
        is_member: bool,
        found: &mut Found,
    ) -> Option<Node> {
        if is_member && node.is("null") {
            let mut leaves = Vec::new();
            fields.iter().for_each(|field| field.leaves(from.0, &mut leaves));
            found.leaves.extend(leaves.iter().map(|leaf| reported(leaf)));
            return Some(node.clone());
        }
        if self.rules.keeps_kinds && !node.is_object() {
            let mut kept = Vec::new();
            if let Value::Array(_) = &node.value {
                self.in_element(node, fields, from, found, &mut kept);
                return Some(Node { at: node.at, value: Value::Array(kept) });
            }
            self.kinds_kept += 1;
            let mut leaves = Vec::new();
            fields.iter().for_each(|field| field.leaves(from.0, &mut leaves));
            found.leaves.extend(leaves.iter().map(|leaf| reported(leaf)));
            return Some(node.clone());
        }
        let Value::Object(members) = &node.value else {
            found.skipped += 1;
            return None;
        };
        let mut kept = Vec::new();
        for field in fields {
            let named = members.iter().filter(|member| member.name.as_ref() == Some(&field.name));
            let mut named = named.peekable();
            let Some(first) = named.next() else { continue };
            let path = field.below(from.0);
            self.seen_twice
                .extend(named.map(|member| (member.node.at, path.clone(), Some(from.1))));
            let value = self.field(&first.node, field, (&path, from.1), found);
            let Some(node) = value else { continue };
            // A key that stays the same keeps its spelling.
            let key = quote(field.output_key());
            kept.push(Member { key, name: Some(field.output_key().to_owned()), node });
        }
        kept.sort_by_key(|member| member.node.at);
        Some(Node { at: node.at, value: Value::Object(kept) })
    }

    fn field(
        &mut self,
        node: &Node,
        field: &Field,
        from: (&[Token], usize),
        found: &mut Found,
    ) -> Option<Node> {
        let is_leaf = field.fields.is_empty();
        if field.levels == 0 && !is_leaf {
            return self.in_braces(node, &field.fields, from, true, found);
        }
        if field.levels > 0 && self.rules.keeps_kinds && !node.is_array() {
            self.kinds_kept += 1;
            if is_leaf {
                found.leaves.insert(reported(from.0));
            }
            if !node.is_object() {
                let mut leaves = Vec::new();
                let path = &from.0[..from.0.len() - field.levels - 1];
                field.leaves(path, &mut leaves);
                found.leaves.extend(leaves.iter().map(|leaf| reported(leaf)));
                return Some(node.clone());
            }
            let mut kept = Vec::new();
            match is_leaf {
                true => kept.push(node.clone()),
                false => kept.extend(self.in_braces(node, &field.fields, from, false, found)),
            }
            return Some(Node { at: node.at, value: Value::Array(kept) });
        }
        if field.levels > 0 && !node.is_container() {
            found.skipped += 1;
            return None;
        }
        if is_leaf {
            found.leaves.insert(reported(from.0));
        }
        if field.levels == 0 {
            return Some(node.clone());
        }
        let mut kept = Vec::new();
        self.level(node, field.levels, field, from, found, &mut kept);
        Some(Node { at: node.at, value: Value::Array(kept) })
    }

    #[allow(clippy::too_many_arguments, reason = "a function that recurses")]
    fn level(
        &mut self,
        node: &Node,
        levels: usize,
        field: &Field,
        from: (&[Token], usize),
        found: &mut Found,
        kept: &mut Vec<Node>,
    ) {
        let children: Vec<&Node> = match &node.value {
            Value::Scalar(_) => {
                found.skipped += 1;
                return;
            }
            Value::Array(elements) => elements.iter().collect(),
            Value::Object(members) => {
                let names: BTreeSet<_> = members.iter().map(|member| &member.name).collect();
                self.all_of_object |= names.len() < members.len();
                members.iter().map(|member| &member.node).collect()
            }
        };
        for child in children {
            if levels > 1 && self.rules.keeps_kinds && !child.is_array() {
                let is_leaf = field.fields.is_empty();
                self.kinds_kept += usize::from(is_leaf || child.is_object());
                match is_leaf {
                    true => kept.push(child.clone()),
                    false => self.in_element(child, &field.fields, from, found, kept),
                }
            } else if levels > 1 {
                self.level(child, levels - 1, field, from, found, kept);
            } else if field.fields.is_empty() {
                kept.push(child.clone());
            } else {
                self.in_element(child, &field.fields, from, found, kept);
            }
        }
    }
}
