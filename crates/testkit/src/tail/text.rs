//! Minified JSON as text: its members and elements, the place of a payload, strings and their characters. It reads the text as
//! often as it needs to.

/// The bytes of the string at the beginning of `text`, quotes included.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    panic!("a string ends: {text}")
}

/// The bytes of the value at the beginning of `text`.
fn value(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    loop {
        match text.as_bytes()[at] {
            b'"' => at += string(&text[at..]),
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                at += 1;
            }
            _ if depth > 0 => at += 1,
            _ => {
                let end = text[at..].find([',', '}', ']']).unwrap_or(text.len() - at);
                return at + end;
            }
        }
        if depth == 0 {
            return at;
        }
    }
}

/// A child of a container: its value, and for a member its name as it is written.
#[derive(Clone, Copy, Debug)]
pub struct Child<'a> {
    pub key: Option<&'a str>,
    pub value: &'a str,
}

impl Child<'_> {
    /// The name. `None` for an element, and for a name with a lone surrogate.
    pub fn name(&self) -> Option<String> {
        serde_json::from_str(self.key?).ok()
    }
}

/// The children of the container `text`.
pub fn children(text: &str) -> Vec<Child<'_>> {
    let mut children = Vec::new();
    let mut rest = &text[1..];
    while !rest.starts_with(['}', ']']) {
        let key = text.starts_with('{').then(|| &rest[..string(rest)]);
        rest = &rest[key.map_or(0, |key| key.len() + 1)..];
        let value = &rest[..value(rest)];
        children.push(Child { key, value });
        rest = &rest[value.len()..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    children
}

/// The values on the path from the document to the value at `way`, which is the last. Among members with the same name the
/// path leads to the first array, or else to the first member.
pub fn walk<'a>(text: &'a str, way: &[String]) -> Option<Vec<&'a str>> {
    let mut values = vec![text];
    for step in way {
        let here = values[values.len() - 1];
        let children = if here.starts_with(['{', '[']) { children(here) } else { return None };
        let next = if here.starts_with('[') {
            children.get(step.parse::<usize>().ok()?).map(|child| child.value)
        } else {
            let named: Vec<&str> = children
                .iter()
                .filter(|child| child.name().as_ref() == Some(step))
                .map(|child| child.value)
                .collect();
            named.iter().find(|value| value.starts_with('[')).or(named.first()).copied()
        };
        values.push(next?);
    }
    Some(values)
}

/// The bytes of the character at the beginning of `text`, which is inside a string. An escape and a pair of escaped surrogates
/// are one character.
fn character(text: &str) -> usize {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    match unit(text) {
        Some(0xD800..0xDC00) if matches!(unit(&text[6..]), Some(0xDC00..0xE000)) => 12,
        Some(_) => 6,
        None if text.starts_with('\\') => 2,
        None => text.chars().next().map_or(0, char::len_utf8),
    }
}

/// Cuts the strings of `text` to `threshold` characters. Names are not cut, nor are strings that are no longer than the
/// threshold and the dots.
pub fn cut(text: &str, threshold: usize) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('"') {
        out += &rest[..at];
        rest = &rest[at..];
        let (quoted, after) = rest.split_at(string(rest));
        rest = after;
        if rest.starts_with(':') {
            out += quoted;
            continue;
        }
        let inside = &quoted[1..quoted.len() - 1];
        let (mut count, mut end, mut kept) = (0, 0, 0);
        while end < inside.len() {
            end += character(&inside[end..]);
            count += 1;
            if count <= threshold {
                kept = end;
            }
        }
        if threshold + "...".len() < count {
            out += &format!("\"{}...\"", &inside[..kept]);
        } else {
            out += quoted;
        }
    }
    out + rest
}
