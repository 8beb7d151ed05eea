//! Parses the conditions of `--where`.
//!
//! ```text
//! state=open          the value equals `open`
//! n=1|2|null          one of several; a word that is a JSON literal or number is also that value
//! title~^fix          a regular expression matches
//! !draft=true         the condition does not hold
//! ```
//!
//! This module must not depend on flags. Paths and patterns are validated by the compiler of specs.

use tamis::spec::{ItemCondition, RawJson, ValueTest};

/// Parses a condition.
///
/// # Errors
/// The forms of a condition, for a message.
pub(crate) fn parse(text: &str) -> Result<ItemCondition, String> {
    let (text, is_negative) = match text.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let Some(at) = operator(text) else {
        return Err("write PATH=VALUE, PATH=VALUE|VALUE or PATH~REGEX".to_owned());
    };
    let (path, rest) = text.split_at(at);
    let test = match rest.strip_prefix('~') {
        Some(pattern) => ValueTest::new().matches(pattern),
        None => ValueTest::new().one_of(values(rest.get(1..).unwrap_or_default())),
    };
    let path = path.trim_matches(' ');
    refuse_other_operators(text, path, rest)?;
    Ok(if is_negative { ItemCondition::not(path, test) } else { ItemCondition::new(path, test) })
}

/// Refuses the operators of other languages, which would be a part of the path or of the value.
fn refuse_other_operators(text: &str, path: &str, rest: &str) -> Result<(), String> {
    let instead = match (path.chars().last(), rest.get(..2)) {
        (Some('!'), _) => {
            let value = rest.get(1..).unwrap_or_default();
            format!("write !{}={value}", path.trim_end_matches(['!', ' ']))
        }
        (Some('<' | '>'), _) => {
            "write a manifest with `where: [{path: n, greater: 1}]`, or `less`".to_owned()
        }
        (_, Some("==" | "=~")) => format!("write {path}={}", rest.get(2..).unwrap_or_default()),
        _ if text.starts_with('!') => "write one `!`".to_owned(),
        _ => return Ok(()),
    };
    Err(format!("not an operator of --where; {instead}"))
}

/// Returns the place of the operator: the first `=` or `~` outside of `["…"]`. In a JSON Pointer, `~0` and `~1` are escapes.
fn operator(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_pointer = text.starts_with('/');
    let (mut at, mut is_quoted) = (0, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if is_quoted => at += 1,
            b'"' if is_quoted => is_quoted = false,
            b'"' if at > 0 && bytes.get(at - 1) == Some(&b'[') && !is_pointer => is_quoted = true,
            _ if is_quoted => {}
            b'=' => return Some(at),
            b'~' if !(is_pointer && matches!(bytes.get(at + 1), Some(b'0' | b'1'))) => {
                return Some(at);
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns the values between bars. `\|` is a bar.
fn values(text: &str) -> Vec<RawJson> {
    let mut values = Vec::new();
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    loop {
        match rest.next() {
            Some('\\') if rest.next_if_eq(&'|').is_some() => word.push('|'),
            Some('|') => add(&mut values, &std::mem::take(&mut word)),
            Some(char) => word.push(char),
            None => break,
        }
    }
    add(&mut values, &word);
    values
}

/// Adds a word as a string, and as the value that it spells.
fn add(values: &mut Vec<RawJson>, word: &str) {
    values.push(RawJson::from(word));
    let is_scalar = !word.starts_with(['"', '[', '{', ' ']);
    if let Some(value) = word.parse::<RawJson>().ok().filter(|_| is_scalar) {
        values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn conditions_as_json() {
        for (text, expected) in [
            ("state=open", r#"{"path":"state","in":["open"]}"#),
            ("a.b=1|x", r#"{"path":"a.b","in":["1",1,"x"]}"#),
            ("a=", r#"{"path":"a","in":[""]}"#),
            (r"a=x\|y|null", r#"{"path":"a","in":["x|y","null",null]}"#),
            ("!draft=true", r#"{"path":"draft","not":{"in":["true",true]}}"#),
            ("title~a=b|c", r#"{"path":"title","matches":"a=b|c"}"#),
            ("/a~1b=2", r#"{"path":"/a~1b","in":["2",2]}"#),
            ("/a~0b~x", r#"{"path":"/a~0b","matches":"x"}"#),
            (r#"["a=b"].c=d"#, r#"{"path":"[\"a=b\"].c","in":["d"]}"#),
            ("a=\"x\"", r#"{"path":"a","in":["\"x\""]}"#),
        ] {
            let condition = parse(text).unwrap();
            assert_eq!(serde_json::to_string(&condition).unwrap(), expected, "{text}");
        }
        for text in ["", "a", "!a", "[\"a=b\"]", "a!=b", "a==b", "n>=1", "n <= 1", "!!a=b", "a=~b"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
