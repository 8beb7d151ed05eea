//! Parses the conditions of `--where`.
//!
//! ```text
//! state=open          the value equals `open`
//! n=1|2|null          one of several; a word that is a JSON literal or number is also that value
//! name="a b"          a word in quotes is also the text between them
//! title~^fix          a regular expression matches
//! stars>1000, n<0     a number, or a string that is not a number, is greater or less
//! !draft=true         the condition does not hold
//! ```
//!
//! Blanks around the operator and around a value do not count.
//!
//! This module must not depend on flags. Paths and patterns are validated by the compiler of specs.

use tamis::spec::{ItemCondition, RawJson, ValueTest};

/// The character that is trimmed around paths and values.
const BLANK: char = ' ';

/// The forms of a condition.
const FORMS: &str = "PATH=VALUE, PATH=VALUE|VALUE, 'PATH>N', 'PATH<N' or PATH~REGEX";

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
        return Err(format!(
            "write {FORMS} (in quotes: to a shell, `>` and `|` mean something else)"
        ));
    };
    let (path, rest) = text.split_at(at);
    let path = path.trim_matches(BLANK);
    refuse_other_operators(text, path, rest)?;
    let value = rest.get(1..).unwrap_or_default().trim_matches(BLANK);
    if rest.starts_with(['<', '>']) {
        refuse_other_bounds(value)?;
    }
    let test = match rest.as_bytes().first() {
        Some(b'~') => ValueTest::new().matches(value),
        Some(b'>') => ValueTest::new().greater(bound(value)),
        Some(b'<') => ValueTest::new().less(bound(value)),
        _ => ValueTest::new().one_of(values(value)),
    };
    Ok(if is_negative { ItemCondition::not(path, test) } else { ItemCondition::new(path, test) })
}

/// Refuses the operators of other languages, which would be a part of the path or of the value.
fn refuse_other_operators(text: &str, path: &str, rest: &str) -> Result<(), String> {
    let value = |from: usize| rest.get(from..).unwrap_or_default().trim_matches(BLANK);
    let instead = match (path.chars().last(), rest.get(..2)) {
        (Some('!'), Some(operator)) => {
            let test = if operator.starts_with('~') { '~' } else { '=' };
            let path = path.trim_end_matches(['!', BLANK]);
            format!("write '!{path}{test}{}'", value(1).trim_start_matches('=').trim_matches(BLANK))
        }
        (_, Some("==")) => format!("write {path}={}", value(2).trim_start_matches(['=', BLANK])),
        (_, Some("=~" | "~=" | "~~")) => format!("write '{path}~{}'", value(2)),
        (_, Some("<>")) => format!("write '!{path}={}'", value(2)),
        (_, Some(">=" | "=>")) => or_equal(path, '>', '<', value(2)),
        (_, Some("<=" | "=<")) => or_equal(path, '<', '>', value(2)),
        _ if rest.starts_with(['<', '>']) && value(1).is_empty() => {
            format!("write a number after it, as in '{path}>4'")
        }
        _ if text.starts_with('!') => "write one `!`".to_owned(),
        _ => return Ok(()),
    };
    Err(format!("not an operator of --where; {instead}"))
}

/// Returns the advice for `>=` and `<=`.
fn or_equal(path: &str, operator: char, opposite: char, value: &str) -> String {
    format!(
        "write '{path}{operator}VALUE', or '!{path}{opposite}{value}', which also keeps items without `{path}`"
    )
}

/// Refuses values of `>` and `<` that hold several conditions, or a number in another spelling: as strings, they would be greater
/// or less than every number.
fn refuse_other_bounds(value: &str) -> Result<(), String> {
    let is_quoted = unquoted(value).is_some();
    let joins = ["&&", "||", " and ", " or ", ","];
    if !is_quoted
        && value.contains(['=', '<', '>', '~'])
        && joins.iter().any(|it| value.contains(it))
    {
        return Err("one condition for each --where: all of them have to hold".to_owned());
    }
    let is_number = value.chars().all(|char| char.is_ascii_digit() || [',', '_'].contains(&char));
    if is_number && value.contains([',', '_']) {
        let number = value.replace([',', '_'], "");
        return Err(format!("write the number as {number}"));
    }
    Ok(())
}

/// Returns the value of `>` or `<`: a number if the text is one, else a string, which may be in quotes.
fn bound(text: &str) -> RawJson {
    let is_number = text.starts_with(|char: char| char == '-' || char.is_ascii_digit());
    let number = text.parse::<RawJson>().ok().filter(|_| is_number);
    number.or_else(|| unquoted(text)).unwrap_or_else(|| RawJson::from(text))
}

/// Returns the text between the quotes, if there are some: those of JSON, or single ones.
fn unquoted(text: &str) -> Option<RawJson> {
    if text.starts_with('"') {
        return text.parse().ok();
    }
    text.strip_prefix('\'')?.strip_suffix('\'').map(RawJson::from)
}

/// Returns the place of the operator: the first `=`, `~`, `<` or `>` outside of `["…"]`. In a JSON Pointer, `~0` and `~1` are escapes.
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
            b'=' | b'<' | b'>' => return Some(at),
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
    let word = word.trim_matches(BLANK);
    values.push(RawJson::from(word));
    let is_scalar = !word.starts_with(['"', '[', '{', ' ']);
    values.extend(word.parse::<RawJson>().ok().filter(|_| is_scalar).or_else(|| unquoted(word)));
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
            ("a=\"x\"", r#"{"path":"a","in":["\"x\"","x"]}"#),
            ("a='b c'", r#"{"path":"a","in":["'b c'","b c"]}"#),
            ("a='", r#"{"path":"a","in":["'"]}"#),
            ("day>\"2026-01-01\"", r#"{"path":"day","greater":"2026-01-01"}"#),
            ("name>A, B", r#"{"path":"name","greater":"A, B"}"#),
            (" a = x | y ", r#"{"path":"a","in":["x","y"]}"#),
            ("a ~ ^x", r#"{"path":"a","matches":"^x"}"#),
            ("n>4", r#"{"path":"n","greater":4}"#),
            ("n < -1.50", r#"{"path":"n","less":-1.5}"#),
            ("!n>4", r#"{"path":"n","not":{"greater":4}}"#),
            ("day>2026-01-01", r#"{"path":"day","greater":"2026-01-01"}"#),
            (r#"["a>b"]=1"#, r#"{"path":"[\"a>b\"]","in":["1",1]}"#),
            ("a=b>c", r#"{"path":"a","in":["b>c"]}"#),
        ] {
            let condition = parse(text).unwrap();
            assert_eq!(serde_json::to_string(&condition).unwrap(), expected, "{text}");
        }
        for text in ["", "a", "!a", "[\"a=b\"]", "!!a=b", "n>", "n < "] {
            assert!(parse(text).is_err(), "{text}");
        }
        for (text, advice) in [
            ("language == Rust", "write language=Rust"),
            ("a === b", "write a=b"),
            ("a!=b", "write '!a=b'"),
            ("a != b ", "write '!a=b'"),
            ("a!==b", "write '!a=b'"),
            ("a !~ ^b", "write '!a~^b'"),
            ("a <> b", "write '!a=b'"),
            ("a=~^b", "write 'a~^b'"),
            ("a ~= ^b", "write 'a~^b'"),
            ("n =>1", "write 'n>VALUE', or '!n<1', which also keeps items without `n`"),
            ("n >= 1", "write 'n>VALUE', or '!n<1', which also keeps items without `n`"),
            ("n<=1", "write 'n<VALUE', or '!n>1', which also keeps items without `n`"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error, format!("not an operator of --where; {advice}"), "{text}");
        }
        for (text, advice) in [
            ("n>4 and a=b", "one condition for each --where: all of them have to hold"),
            ("n>4 && a<5", "one condition for each --where: all of them have to hold"),
            ("n>4,a=b", "one condition for each --where: all of them have to hold"),
            ("n>1,000", "write the number as 1000"),
        ] {
            assert_eq!(parse(text).unwrap_err(), advice, "{text}");
        }
    }
}
