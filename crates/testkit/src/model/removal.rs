//! The removal of parts of a tree: by `retain`, `exclude` and `omit`, and of null or empty members.

use super::dom::{Member, Node, Value};
use super::places::Places;
use super::rules::Rules;

/// Applies `exclude` to an item. Each element of an item that is an array is treated as an item.
pub(crate) fn exclude_item(node: &Node, places: &Places<'_>) -> Node {
    let Value::Array(elements) = &node.value else { return exclude(node, places) };
    let below = elements.iter().enumerate().map(|(at, node)| (node, places.element(at).begin()));
    let kept = below.filter(|(_, places)| !places.hit);
    let kept = kept.map(|(node, places)| exclude_item(node, &places));
    Node { at: node.at, value: Value::Array(kept.collect()) }
}

/// Applies `exclude` below a value that is not excluded itself.
fn exclude(node: &Node, places: &Places<'_>) -> Node {
    let value = match &node.value {
        Value::Scalar(_) => node.value.clone(),
        Value::Array(elements) => {
            let below = elements.iter().enumerate().map(|(at, node)| (node, places.element(at)));
            let kept = below.filter(|(_, places)| !places.hit);
            Value::Array(kept.map(|(node, places)| exclude(node, &places)).collect())
        }
        Value::Object(members) => {
            let below = members.iter().map(|member| {
                let places = places.member(member.name.as_deref());
                (member, places)
            });
            let kept = below.filter(|(_, places)| !places.hit).map(|(member, places)| {
                let node = exclude(&member.node, &places);
                Member { node, ..member.clone() }
            });
            Value::Object(kept.collect())
        }
    };
    Node { at: node.at, value }
}

/// The number of values that were removed from a tree, each without those inside it.
pub(crate) fn removed(before: &Node, after: &Node) -> usize {
    let children = |node: &Node| match &node.value {
        Value::Scalar(_) => Vec::new(),
        Value::Array(elements) => elements.iter().map(|node| (None, node.clone())).collect(),
        Value::Object(members) => {
            members.iter().map(|member| (Some(member.key.clone()), member.node.clone())).collect()
        }
    };
    let (before, after) = (children(before), children(after));
    // Values keep their keys and their places in the document. Several sources may have selected one place.
    let mut left = after.iter().peekable();
    let mut count = 0;
    for (key, child) in &before {
        match left.next_if(|(kept, next)| kept == key && next.at == child.at) {
            Some((_, next)) => count += removed(child, next),
            None => count += 1,
        }
    }
    count
}

/// The part of a value that `retain` keeps. `None` if it keeps nothing.
pub(super) fn retain(node: &Node, places: &Places<'_>) -> Option<Node> {
    if places.hit {
        return Some(node.clone());
    }
    let value = match &node.value {
        Value::Scalar(_) => return None,
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            Value::Array(
                elements.filter_map(|(at, node)| retain(node, &places.element(at))).collect(),
            )
        }
        Value::Object(members) => {
            let kept = members.iter().filter_map(|member| {
                let node = retain(&member.node, &places.member(member.name.as_deref()))?;
                Some(Member { node, ..member.clone() })
            });
            Value::Object(kept.collect())
        }
    };
    let nothing = match &value {
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Scalar(_) => false,
    };
    if nothing { None } else { Some(Node { at: node.at, value }) }
}

/// Removes null members and, from the leaves up, empty members.
pub(super) fn drop_members(node: &Node, rules: &Rules) -> Node {
    let value = match &node.value {
        Value::Scalar(_) => node.value.clone(),
        Value::Array(elements) => {
            Value::Array(elements.iter().map(|node| drop_members(node, rules)).collect())
        }
        Value::Object(members) => {
            let mut kept = Vec::new();
            for member in members {
                let node = drop_members(&member.node, rules);
                let null = node.is("null");
                let empty = match &node.value {
                    Value::Scalar(text) => text == "\"\"",
                    Value::Array(elements) => elements.is_empty(),
                    Value::Object(members) => members.is_empty(),
                };
                if !(null && rules.drop_nulls || empty && rules.drop_empty) {
                    kept.push(Member { node, ..member.clone() });
                }
            }
            Value::Object(kept)
        }
    };
    Node { at: node.at, value }
}
