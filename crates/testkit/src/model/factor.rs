//! A slow model of restoring: three steps over a tree. And documents whose items share much.

use tamis::Sink;
use tamis::json::{StringDecoder, StringEncoder};

use super::dom::{Member, Node, Value};
use crate::prng::Choices;

/// A factored document.
pub struct Factored;

impl Factored {
    /// Restores a document that was factored by the library.
    pub fn restore(document: &Node) -> Node {
        let Value::Object(members) = &document.value else { return document.clone() };
        assert_eq!(members.first().and_then(|first| first.name.as_deref()), Some("_factored"));
        let resolved = resolve(document, document);
        let expanded = expand(&resolved);
        let Value::Object(members) = expanded.value else { unreachable!("it was an object") };
        let is_items = |member: &Member| member.name.as_deref() == Some("_items");
        match members.iter().find(|member| is_items(member)) {
            Some(items) => items.node.clone(),
            None => node(Value::Object(members.into_iter().skip(1).collect())),
        }
    }

    /// Whether two values are equal, but for the order of members.
    pub fn is_same(one: &Node, other: &Node) -> bool {
        match (&one.value, &other.value) {
            (Value::Scalar(one), Value::Scalar(other)) => one == other,
            (Value::Array(one), Value::Array(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| Self::is_same(one, other))
            }
            (Value::Object(one), Value::Object(other)) => {
                let name =
                    |member: &Member| member.name.clone().unwrap_or_else(|| member.key.clone());
                let sorted = |members: &[Member]| {
                    let mut sorted: Vec<Member> = members.to_vec();
                    // Stable: members of one name keep their order.
                    sorted.sort_by_key(name);
                    sorted
                };
                let (one, other) = (sorted(one), sorted(other));
                one.len() == other.len()
                    && one.iter().zip(&other).all(|(one, other)| {
                        name(one) == name(other) && Self::is_same(&one.node, &other.node)
                    })
            }
            _ => false,
        }
    }
}

fn node(value: Value) -> Node {
    Node { at: 0, value }
}

/// Returns a copy without references.
fn resolve(at: &Node, document: &Node) -> Node {
    match &at.value {
        Value::Scalar(_) => at.clone(),
        Value::Array(elements) => {
            node(Value::Array(elements.iter().map(|element| resolve(element, document)).collect()))
        }
        Value::Object(members) => {
            if let [member] = members.as_slice()
                && member.name.as_deref() == Some("$ref")
            {
                let Value::Scalar(pointer) = &member.node.value else {
                    panic!("a pointer is a string")
                };
                let pointer = decoded(pointer);
                let mut target = document;
                for segment in pointer.strip_prefix("#/").expect("a pointer").split('/') {
                    let segment = segment.replace("~1", "/").replace("~0", "~");
                    target = match &target.value {
                        Value::Array(elements) => {
                            &elements[segment.parse::<usize>().expect("an index")]
                        }
                        Value::Object(members) => {
                            let is = |member: &&Member| member.name.as_deref() == Some(&*segment);
                            &members.iter().find(is).expect("the target is there").node
                        }
                        Value::Scalar(_) => panic!("a scalar has no members"),
                    };
                }
                assert!(target.is_container());
                return resolve(target, document);
            }
            let resolved = members
                .iter()
                .map(|member| Member { node: resolve(&member.node, document), ..member.clone() });
            node(Value::Object(resolved.collect()))
        }
    }
}

/// Returns a copy in which `_all` and `_made` are part of the items.
fn expand(at: &Node) -> Node {
    match &at.value {
        Value::Scalar(_) => at.clone(),
        Value::Array(elements) => node(Value::Array(elements.iter().map(expand).collect())),
        Value::Object(members) => {
            let (mut all, mut made) = (None, None);
            let mut kept = Vec::new();
            for member in members {
                match member.name.as_deref() {
                    Some("_all") => all = Some(&member.node),
                    Some("_made") => made = Some(&member.node),
                    _ if all.is_some() || made.is_some() => {
                        let Value::Array(items) = &member.node.value else {
                            panic!("items are an array")
                        };
                        let items = items.iter().map(|item| {
                            let mut item = item.clone();
                            if let Some(all) = all {
                                add_all(&mut item, all);
                            }
                            if let Some(made) = made {
                                add_made(&mut item, &[], made);
                            }
                            item
                        });
                        let items = node(Value::Array(items.collect()));
                        kept.push(Member { node: items, ..member.clone() });
                        (all, made) = (None, None);
                    }
                    _ => kept.push(Member { node: expand(&member.node), ..member.clone() }),
                }
            }
            node(Value::Object(kept))
        }
    }
}

fn members(object: &mut Node) -> &mut Vec<Member> {
    match &mut object.value {
        Value::Object(members) => members,
        _ => panic!("an item is an object"),
    }
}

fn add_all(item: &mut Node, all: &Node) {
    let Value::Object(shared) = &all.value else { panic!("`_all` is an object") };
    for one in shared {
        let own = members(item).iter_mut().find(|member| member.name == one.name);
        match own {
            Some(own) => add_all(&mut own.node, &one.node),
            None => members(item).push(one.clone()),
        }
    }
}

fn add_made(item: &mut Node, path: &[String], made: &Node) {
    let Value::Object(templates) = &made.value else { panic!("`_made` is an object") };
    for one in templates {
        let name = one.name.clone().expect("a name");
        let mut inner: Vec<String> = path.to_vec();
        inner.push(name);
        match &one.node.value {
            Value::Object(_) => add_made(item, &inner, &one.node),
            Value::Scalar(template) => {
                let text = filled(item, &decoded(template));
                put(item, &inner, &one.key, node(Value::Scalar(encoded(&text))));
            }
            Value::Array(_) => panic!("a template is a string"),
        }
    }
}

/// Adds a member at a path, and the objects around it.
fn put(item: &mut Node, path: &[String], key: &str, value: Node) {
    let (name, rest) = path.split_first().expect("a path has names");
    let own = members(item);
    let place = own.iter().position(|member| member.name.as_deref() == Some(name));
    if rest.is_empty() {
        assert!(place.is_none(), "{name} is there");
        own.push(Member { key: key.to_owned(), name: Some(name.clone()), node: value });
        return;
    }
    let place = place.unwrap_or_else(|| {
        own.push(Member {
            key: encoded(name),
            name: Some(name.clone()),
            node: node(Value::Object(Vec::new())),
        });
        own.len() - 1
    });
    put(&mut own[place].node, rest, key, value);
}

/// Fills a template.
fn filled(item: &Node, template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        let (path, after) = rest.split_once('}').expect("a path ends");
        let mut value = item;
        for name in path.split('.') {
            let Value::Object(members) = &value.value else {
                panic!("a path leads through objects")
            };
            let is = |member: &&Member| member.name.as_deref() == Some(name);
            value = &members.iter().find(is).expect("the source is there").node;
        }
        let Value::Scalar(text) = &value.value else { panic!("a source is a scalar") };
        out.push_str(&if text.starts_with('"') { decoded(text) } else { text.clone() });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn decoded(quoted: &str) -> String {
    let mut text = Vec::new();
    let mut decoder = StringDecoder::new();
    decoder.write(&quoted.as_bytes()[1..quoted.len() - 1], &mut text).expect("no lone surrogate");
    decoder.end().expect("the string is complete");
    String::from_utf8(text).expect("the text is UTF-8")
}

fn encoded(text: &str) -> String {
    let mut out = b"\"".to_vec();
    StringEncoder::new(&mut out).write(text.as_bytes());
    out.push(b'"');
    String::from_utf8(out).expect("the text is UTF-8")
}

const NAMES: [&str; 14] = [
    "id", "login", "url", "html_url", "owner", "a/b", "c~d", "\\u0061x", "q\\\"r", "é", "all",
    "made", "", "x.y",
];
/// Names of a factored document, some with escapes, and names that are like them.
const RESERVED: [&str; 9] =
    ["_all", "_made", "$ref", "_items", "_factored", "\\u005fall", "$r\\u0065f", "_al", "_alls"];
const SCALARS: [&str; 22] = [
    "1",
    "1.0",
    "-0",
    "12345678901234567890123",
    "1E400",
    "true",
    "null",
    "\"\"",
    "\"open\"",
    "\"a{b}c\"",
    "\"{id}\"",
    "\"mira\"",
    "\"sol\"",
    "\"\\u0061b\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"é😀\"",
    "\"a\\\"b\\\\c\\/d\"",
    "\"line\\nline\"",
    "\"x\\u007f\"",
    "\"https://host.example/path\"",
    "\"7\"",
];

/// Returns a document with lists of items that share members, whose strings follow from each other, or that occur twice.
pub fn random_document(choices: &mut impl Choices) -> String {
    match choices.below(4) {
        0 => items(choices),
        1 => format!(
            r#"{{"a":{},"items":{},"b":{}}}"#,
            value(choices, 2),
            items(choices),
            items(choices)
        ),
        2 => format!(r#"[{{"list":{}}},{{"list":{}}}]"#, items(choices), items(choices)),
        _ => format!(
            r#"{{"x":{{"list":{}}},"y":{},"z":{}}}"#,
            items(choices),
            value(choices, 3),
            value(choices, 3)
        ),
    }
}

fn value(choices: &mut impl Choices, depth: usize) -> String {
    match choices.below(if depth == 0 { 4 } else { 7 }) {
        0..4 => choices.pick(&SCALARS).to_owned(),
        4 => {
            let count = choices.below(4);
            let elements: Vec<_> = (0..count).map(|_| value(choices, depth - 1)).collect();
            format!("[{}]", elements.join(","))
        }
        _ => object(choices, depth),
    }
}

fn object(choices: &mut impl Choices, depth: usize) -> String {
    let mut members: Vec<String> = Vec::new();
    let mut names = Vec::new();
    for _ in 0..choices.below(5) {
        let name = choices.pick(&NAMES);
        // Seldom a name twice, or a reserved one.
        if names.contains(&name) && choices.below(50) != 1 {
            continue;
        }
        let name = if choices.below(200) == 1 { choices.pick(&RESERVED) } else { name };
        members.push(format!("\"{name}\":{}", value(choices, depth.saturating_sub(1))));
        names.push(name);
    }
    format!("{{{}}}", members.join(","))
}

/// Returns an array whose items are like the first one.
fn items(choices: &mut impl Choices) -> String {
    let common = object(choices, 3);
    let inner: Vec<String> = (0..choices.below(3)).map(|_| value(choices, 3)).collect();
    let texts = [value(choices, 2), value(choices, 2)];
    let has_twins = choices.below(2) == 1;
    let mut items = Vec::new();
    for index in 0..choices.below(14) {
        let login = choices.pick(&["mira", "sol", "a{b", "é", "x\\\"y", "7", ""]);
        let mut members = vec![
            format!(r#""key{}":{index}"#, choices.below(30) / 29),
            format!(r#""login":"{login}""#),
            format!(r#""user":{{"login":"{login}","link":"https://host.example/{login}/{{x}}"}}"#),
            format!(r#""common":{common}"#),
            format!(
                r#""circle":"<{login}>","circle2":"{login}>","e":{{}},"deep":{{"e":{{"v":{index}}},"t":[]}}"#
            ),
        ];
        if has_twins {
            // The twins of two items may differ only in members that are left out, or in the spelling of a number.
            let (text, number) = (&texts[choices.below(2)], choices.pick(&["1", "1", "1", "1.0"]));
            members.push(format!(
                r#""twin":{{"link":"/{login}/{index}","a":"a text that all twins have","n":{number},"b":{text},"c":{text},"d":{{"same":{{"n":{number}}},"rest":"a longer text that all twins have"}}}}"#
            ));
        }
        for (place, inner) in inner.iter().enumerate() {
            if choices.below(10) != 1 {
                members.push(format!(r#""inner{place}":{inner}"#));
            }
        }
        if choices.below(6) == 1 {
            members.push(format!(r#""extra":{}"#, value(choices, 2)));
        }
        items.push(format!("{{{}}}", members.join(",")));
        if choices.below(60) == 1 {
            items.push(value(choices, 1));
        }
    }
    format!("[{}]", items.join(","))
}
