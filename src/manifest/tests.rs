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

fn keys_of_specs() -> BTreeSet<String> {
    let message = flaw("{qqqqqqqqqqqqqq: 1}");
    let (_, keys) = message.split_once("; known are ").unwrap();
    keys.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_schema_has_the_keys_that_specs_read() {
    let schema = schema();
    let keys = schema["$defs"]["spec"]["properties"].as_object().unwrap();
    assert_eq!(keys.keys().cloned().collect::<BTreeSet<_>>(), keys_of_specs());
    assert_eq!(schema["$defs"]["spec"]["additionalProperties"], false);
}

#[test]
fn the_schema_has_the_words_that_specs_read() {
    let schema = schema();
    let mut enums = 0;
    // `select` may be a map; the schema's own tests have it.
    for key in keys_of_specs().into_iter().filter(|key| key != "select") {
        let message = flaw(&format!("{{{key}: {{}}}}"));
        let words = message.strip_prefix(&format!("`{key}` wants ")).unwrap();
        let words = words.strip_suffix(", not a map").unwrap();
        let known = &schema["$defs"]["spec"]["properties"][&key];
        match known["enum"].as_array() {
            Some(known) => {
                enums += 1;
                let known: Vec<&str> = known.iter().map(|word| word.as_str().unwrap()).collect();
                assert_eq!(super::node::or(&known), words, "{key}");
            }
            None => {
                let expected = match known["type"].as_str() {
                    Some("boolean") => "true or false",
                    Some("integer") => "a whole number of at least 0, such as 25",
                    Some("array") => "a list",
                    _ => "text",
                };
                assert_eq!(words, expected, "{key}");
            }
        }
    }
    assert!(enums >= 5, "words were compared");
}
