//! `where` in the model: whether an item is kept.

use tamis::spec::{ItemCondition, RawJson, ValueTest};

use super::dom::{Node, Value};
use super::paths::{Path, Token};

/// A condition, with one part of a test.
#[derive(Clone, Debug)]
pub struct Condition {
    pub path: Path,
    pub part: TestPart,
    pub not: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum TestPart {
    Exists,
    /// The text of a scalar.
    Equals(&'static str),
    In(&'static [&'static str]),
    Less(i32),
    Greater(i32),
}

/// The outcome for an item. `Unclear`: a wildcard meets duplicate members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Kept,
    Dropped,
    Unclear,
}

impl Condition {
    pub fn spec(&self) -> ItemCondition {
        let json = |text: &str| text.parse::<RawJson>().expect("a generated scalar is valid");
        let test = match self.part {
            TestPart::Exists => ValueTest::new().exists(true),
            TestPart::Equals(text) => ValueTest::new().equals(json(text)),
            TestPart::In(texts) => ValueTest::new().one_of(texts.iter().map(|text| json(text))),
            TestPart::Less(than) => ValueTest::new().less(json(&than.to_string())),
            TestPart::Greater(than) => ValueTest::new().greater(json(&than.to_string())),
        };
        match self.not {
            true => ItemCondition::not(&self.path.text, test),
            false => ItemCondition::new(&self.path.text, test),
        }
    }
}

/// Tests an element of the payload.
pub fn outcome(conditions: &[Condition], item: &Node) -> Outcome {
    if !item.is_object() {
        return Outcome::Kept;
    }
    let mut all = Outcome::Kept;
    for condition in conditions {
        let mut values = Vec::new();
        if !find(item, &condition.path.tokens, &mut values) {
            return Outcome::Unclear;
        }
        let passes = values.iter().any(|value| holds(condition.part, value));
        if passes == condition.not {
            all = Outcome::Dropped;
        }
    }
    all
}

/// Collects the values at a path. Returns whether they are clear.
fn find<'a>(node: &'a Node, path: &[Token], values: &mut Vec<&'a Node>) -> bool {
    let Some((token, rest)) = path.split_first() else {
        values.push(node);
        return true;
    };
    match (&node.value, token) {
        (Value::Array(elements), Token::Any) => {
            elements.iter().all(|node| find(node, rest, values))
        }
        (Value::Array(elements), token) => match token.index().and_then(|at| elements.get(at)) {
            Some(node) => find(node, rest, values),
            None => true,
        },
        (Value::Object(members), Token::Any) => {
            let unique = members
                .iter()
                .enumerate()
                .all(|(at, member)| !members[..at].iter().any(|other| other.name == member.name));
            unique && members.iter().all(|member| find(&member.node, rest, values))
        }
        (Value::Object(members), Token::Name(name)) => {
            let first = members.iter().find(|member| member.name.as_ref() == Some(name));
            first.is_none_or(|member| find(&member.node, rest, values))
        }
        (Value::Scalar(_), _) => true,
    }
}

fn holds(part: TestPart, value: &Node) -> bool {
    let text = match (&value.value, part) {
        (_, TestPart::Exists) => return true,
        (Value::Scalar(text), _) => text,
        _ => return false,
    };
    let number = || number(text);
    let equals = |other: &str| match (number(), other.parse::<f64>()) {
        (Some(one), Ok(other)) => one == other,
        (None, Err(_)) if text.starts_with('"') => {
            let string = |text: &str| serde_json::from_str::<String>(text).ok();
            string(text).is_some() && string(text) == string(other)
        }
        (None, Err(_)) => text == other,
        _ => false,
    };
    match part {
        TestPart::Exists => true,
        TestPart::Equals(other) => equals(other),
        TestPart::In(others) => others.iter().any(|other| equals(other)),
        TestPart::Less(than) => number().is_some_and(|number| number < f64::from(than)),
        TestPart::Greater(than) => number().is_some_and(|number| number > f64::from(than)),
    }
}

/// The value of a number, which is only compared with numbers of a few digits: one that is too small stays different from 0.
fn number(text: &str) -> Option<f64> {
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return None;
    }
    let value: f64 = text.parse().ok()?;
    let mut digits = text.split(['e', 'E']).next().unwrap_or_default().chars();
    let is_zero = !digits.any(|digit| ('1'..='9').contains(&digit));
    let tiny = if text.starts_with('-') { -f64::MIN_POSITIVE } else { f64::MIN_POSITIVE };
    Some(if value == 0.0 && !is_zero { tiny } else { value })
}
