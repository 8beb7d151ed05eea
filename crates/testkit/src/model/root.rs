//! Locates the document and its payload.

use super::dom::{Node, Value};
use super::eval::Verdict;
use super::paths::Token;
use super::rules::{Root, Rules};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A scalar has no payload.
    Scalar,
    Document,
    /// Plain text in a member `raw`.
    RawText,
    /// The value that these children lead to.
    Way(Vec<usize>),
    /// A path that leads nowhere.
    Absent,
}

const SIBLINGS_OF_RAW: [&str; 5] =
    ["_exit_code", "_text_filtered", "_compact", "_original_items", "stderr"];

pub(crate) fn locate(rules: &Rules, document: &Node) -> Result<Target, Verdict> {
    if let Root::At(path) = &rules.root {
        return match document.value {
            Value::Scalar(_) => Ok(Target::Scalar),
            _ => at(document, &path.tokens),
        };
    }
    let members = match &document.value {
        Value::Scalar(_) => return Ok(Target::Scalar),
        Value::Array(_) => return Ok(Target::Document),
        Value::Object(members) => members,
    };
    let array = |name: &str| {
        let wanted = |member: &super::dom::Member| {
            member.node.is_array() && member.name.as_deref() == Some(name)
        };
        members.iter().position(wanted)
    };
    let first = members.iter().position(|member| member.node.is_array());
    match rules.root {
        Root::Object | Root::At(_) => Ok(Target::Document),
        Root::First => match first {
            Some(member) => Ok(Target::Way(vec![member])),
            None => Err(Verdict::Silent("root first without an array")),
        },
        Root::Auto => {
            let found =
                array("items").or_else(|| array("result")).or_else(|| array("data")).or(first);
            if let Some(member) = found {
                return Ok(Target::Way(vec![member]));
            }
            let is_sibling = |name: &Option<String>| {
                name.as_deref().is_some_and(|name| SIBLINGS_OF_RAW.contains(&name))
            };
            let others: Vec<_> =
                members.iter().filter(|member| !is_sibling(&member.name)).collect();
            let raw_text = others.len() == 1
                && others[0].name.as_deref() == Some("raw")
                && others[0].node.is_string();
            Ok(if raw_text { Target::RawText } else { Target::Document })
        }
    }
}

fn at(document: &Node, path: &[Token]) -> Result<Target, Verdict> {
    let (mut node, mut way) = (document, Vec::new());
    for (step, token) in path.iter().enumerate() {
        let last = step + 1 == path.len();
        let child = match (&node.value, token) {
            (Value::Array(elements), _) => token.index().filter(|index| *index < elements.len()),
            (Value::Object(members), Token::Name(name)) => {
                let mut named = (0..members.len())
                    .filter(|number| members[*number].name.as_ref() == Some(name));
                let first = named.next();
                let again = named.next().is_some();
                let array = first.is_some_and(|first| members[first].node.is_array());
                if again && !(last && array) {
                    return Err(Verdict::Silent("duplicate names on the way to the root"));
                }
                first
            }
            _ => None,
        };
        let Some(child) = child else { return Ok(Target::Absent) };
        node = node.child(child);
        way.push(child);
    }
    Ok(Target::Way(way))
}

/// The extracted value: the first member of that name.
pub(crate) fn extracted<'a>(document: &'a Node, path: &[Token]) -> Option<&'a Node> {
    path.iter().try_fold(document, |node, token| match (&node.value, token) {
        (Value::Array(elements), _) => elements.get(token.index()?),
        (Value::Object(members), Token::Name(name)) => {
            let found = members.iter().find(|member| member.name.as_ref() == Some(name));
            found.map(|member| &member.node)
        }
        _ => None,
    })
}
