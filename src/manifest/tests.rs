//! The schema says what specs read: each key, each word, and no other.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::error::Text;
use super::{Manifest, yaml};
use crate::spec::Spec;

fn schema() -> Json {
    serde_json::from_str(Manifest::schema()).unwrap()
}

/// What the reading of a spec says of this one.
fn flaw(spec: &str) -> String {
    let text = Text::new("x.yaml", spec);
    let node = yaml::parse(&text).unwrap();
    node.read::<Spec>(spec).unwrap_err().message()
}

/// The keys that a reader says it knows when it is given one that it does not.
fn keys_known(spec: &str) -> BTreeSet<String> {
    let message = flaw(spec);
    let (_, keys) = message.split_once("; known are ").unwrap();
    keys.split(", ").map(str::to_owned).collect()
}

const UNKNOWN: &str = "{qqqqqqqqqqqqqq: 1}";
/// The keys whose values are maps, beside `select`, which may be one; the schema's own tests have that.
const MAPS: [&str; 4] = ["text_filter", "budget", "compact", "content"];

fn keys_of(definition: &Json) -> BTreeSet<String> {
    assert_eq!(definition["additionalProperties"], false);
    definition["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn the_schema_has_the_keys_that_specs_read() {
    let schema = schema();
    assert_eq!(keys_of(&schema["$defs"]["spec"]), keys_known(UNKNOWN));
    for map in MAPS {
        let keys = match map {
            // Too few to be told from one another: all are known.
            "budget" => ["bytes", "tokens"].map(str::to_owned).into(),
            _ => keys_known(&format!("{{{map}: {UNKNOWN}}}")),
        };
        assert_eq!(keys_of(&schema["$defs"][map]), keys, "{map}");
        for key in keys {
            // Each is read, or what is wrong is not its name.
            let text = format!("{{{map}: {{{key}: {{}}}}}}");
            assert!(flaw(&text).starts_with(&format!("`{key}` wants ")), "{}", flaw(&text));
        }
    }
}

/// Compares what `key` wants instead of a map with what the schema says of it; tells whether that is one of some words.
fn compare(key: &str, message: &str, known: &Json) -> bool {
    let words = message.strip_prefix(&format!("`{key}` wants ")).unwrap();
    let words = words.strip_suffix(", not a map").unwrap();
    if let Some(known) = known["enum"].as_array() {
        let known: Vec<&str> = known.iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(super::node::or(&known), words, "{key}");
        return true;
    }
    let expected = match (known["type"].as_str(), known["minimum"].as_u64()) {
        (Some("boolean"), _) => "true or false",
        (Some("integer"), Some(0)) => "a whole number of at least 0, such as 25",
        (Some("integer"), Some(1)) => "a whole number of at least 1, such as 4096",
        (Some("array"), _) => "a list",
        _ => "text",
    };
    assert_eq!(words, expected, "{key}");
    false
}

#[test]
fn the_schema_has_the_words_that_specs_read() {
    let schema = schema();
    let mut enums = 0;
    for (key, known) in schema["$defs"]["spec"]["properties"].as_object().unwrap() {
        if key == "select" || key == "test" {
            continue;
        }
        if MAPS.contains(&key.as_str()) {
            assert_eq!(known["$ref"], format!("#/$defs/{key}"));
            let inside = schema["$defs"][key]["properties"].as_object().unwrap();
            for (inner, known) in inside {
                compare(inner, &flaw(&format!("{{{key}: {{{inner}: {{}}}}}}")), known);
            }
        } else {
            enums += usize::from(compare(key, &flaw(&format!("{{{key}: {{}}}}")), known));
        }
    }
    assert!(enums >= 5, "words were compared");
}
