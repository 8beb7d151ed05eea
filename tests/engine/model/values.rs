//! A second model of `retain` and `exclude`: each path is resolved to places in a `serde_json` value, and the places are kept or
//! removed.

use std::collections::BTreeSet;

use serde_json::Value;
use tamis::{Program, filter_slice};

use tamis_testkit::effort::share;
use tamis_testkit::model::dom::{self, Node};
use tamis_testkit::model::generate;
use tamis_testkit::model::paths::{Path, Token};
use tamis_testkit::model::rules::{Root, Rules};
use tamis_testkit::prng::Prng;

const PAIRS: u64 = 20_000;

/// Child indices and names that lead from the top of a value to a place in it.
type Place = Vec<String>;

/// All places that a path selects. Names apply to the elements of arrays.
fn places(value: &Value, path: &[Token], here: &mut Place, found: &mut BTreeSet<Place>) {
    let Some(token) = path.first() else {
        found.insert(here.clone());
        return;
    };
    let children: Vec<(String, &Value)> = match value {
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(at, child)| (at.to_string(), child)).collect()
        }
        Value::Object(members) => {
            members.iter().map(|(name, child)| (name.clone(), child)).collect()
        }
        _ => return,
    };
    for (name, child) in children {
        let matches = match token {
            Token::Any => true,
            Token::Name(wanted) => *wanted == name,
        };
        let through = value.is_array() && token.index().is_none() && *token != Token::Any;
        here.push(name);
        if through {
            places(child, path, here, found);
        } else if matches {
            places(child, &path[1..], here, found);
        }
        here.pop();
    }
}

fn all_places(value: &Value, paths: &[Path]) -> BTreeSet<Place> {
    let mut found = BTreeSet::new();
    for path in paths {
        places(value, &path.tokens, &mut Place::new(), &mut found);
    }
    found
}

/// The children of a value, each mapped by `keep`.
fn rebuild(
    value: &Value,
    here: &mut Place,
    keep: &mut dyn FnMut(&Value, &mut Place) -> Option<Value>,
) -> Value {
    let mut child = |name: String, child: &Value| {
        here.push(name);
        let kept = keep(child, here);
        here.pop();
        kept
    };
    match value {
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            elements.filter_map(|(at, node)| child(at.to_string(), node)).collect()
        }
        Value::Object(members) => {
            let kept = members
                .iter()
                .filter_map(|(name, node)| Some((name.clone(), child(name.clone(), node)?)));
            Value::Object(kept.collect())
        }
        scalar => scalar.clone(),
    }
}

fn retained(value: &Value, here: &mut Place, found: &BTreeSet<Place>) -> Option<Value> {
    if found.contains(here) {
        return Some(value.clone());
    }
    let kept = rebuild(value, here, &mut |child, here| retained(child, here, found));
    let something = match &kept {
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    (something || here.is_empty()).then_some(kept)
}

fn without(value: &Value, here: &mut Place, found: &BTreeSet<Place>) -> Option<Value> {
    let gone = found.contains(here);
    (!gone).then(|| rebuild(value, here, &mut |child, here| without(child, here, found)))
}

/// Whether `serde_json` represents the document exactly: no duplicate names, no inexact numbers, no lone surrogates.
fn readable(text: &str) -> Option<Value> {
    fn once(node: &Node) -> bool {
        match &node.value {
            dom::Value::Scalar(_) => true,
            dom::Value::Array(elements) => elements.iter().all(once),
            dom::Value::Object(members) => {
                let names: BTreeSet<_> = members.iter().map(|member| &member.name).collect();
                names.len() == members.len() && members.iter().all(|member| once(&member.node))
            }
        }
    }
    if once(&Node::parse(text)) { serde_json::from_str(text).ok() } else { None }
}

#[test]
fn values_of_retain_and_exclude() {
    let mut compared = 0;
    let pairs = share(PAIRS);
    for seed in 0..pairs {
        let mut prng = Prng::new(0x5e7de << 32 | seed);
        let text = generate::document(&mut prng);
        let Some(value) = readable(&text).filter(|value| value.is_array() || value.is_object())
        else {
            continue;
        };
        let mut rules = generate::rules(&mut prng, &Node::parse(&text));
        let expected = if let Some(paths) = rules.retain.take() {
            rules = Rules { retain: Some(paths), ..Rules::default() };
            let paths = rules.retain.as_deref().unwrap_or_default();
            retained(&value, &mut Place::new(), &all_places(&value, paths))
        } else if value.is_object() {
            rules = Rules { exclude: rules.exclude, root: Root::Object, ..Rules::default() };
            without(&value, &mut Place::new(), &all_places(&value, &rules.exclude))
        } else {
            continue;
        };
        let program = Program::compile(&rules.spec()).expect("a generated spec compiles");
        let (output, _) = filter_slice(&program, text.as_bytes()).expect("the document passes");
        let got: Value = serde_json::from_slice(&output).expect("the output is JSON");
        assert_eq!(Some(got), expected, "seed {seed}: {text}\n{:?}", rules.spec());
        compared += 1;
    }
    assert!(compared > pairs / 8, "only {compared} pairs were compared");
}
