//! Finds out whether a document has two members of one name in an object, of which a parsed value keeps only one.

use serde_json::Value;

use super::text::end_of_string;

/// Returns whether a valid JSON text has more members than its value.
pub(crate) fn has_duplicates(json: &[u8], value: &Value) -> bool {
    names(json) != members(value)
}

/// Returns the number of names in a JSON text: each has a colon outside of strings.
fn names(json: &[u8]) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b':', rest)) {
        at += found;
        if json.get(at) == Some(&b'"') {
            at = end_of_string(json, at);
        } else {
            count += 1;
            at += 1;
        }
    }
    count
}

/// Returns the number of members of all objects in a value.
fn members(value: &Value) -> usize {
    let (mut count, mut open) = (0, vec![value]);
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                count += members.len();
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::has_duplicates;

    #[test]
    fn equal_names_are_duplicates_in_any_spelling() {
        for (json, expected) in [
            (r#"{"a":1,"b":{"a":":"},"c":[{"a":"\"b\":"}]}"#, false),
            (r#"{"a":1,"\u0061":2}"#, true),
            (r#"[{"a":{"b":1,"b":1}}]"#, true),
            (r#""a:""#, false),
        ] {
            let value = serde_json::from_str(json).unwrap();
            assert_eq!(has_duplicates(json.as_bytes(), &value), expected, "{json}");
        }
    }
}
