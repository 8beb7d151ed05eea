//! Random programs and documents, over alphabets that are small enough for names to collide.

use tamis::spec::DuplicateKeys;

use super::conditions::{Condition, TestPart};
use super::dom::{Node, Value};
use super::fields::Field;
use super::paths::{Path, Token};
use super::root::extracted;
use super::rules::{Root, Rules, Source};
use crate::prng::Choices;

const KEYS: [&str; 22] = [
    "a",
    "a",
    "a",
    "b",
    "b",
    "b",
    "c",
    "c",
    "items",
    "data",
    "result",
    "raw",
    r"\u0061",
    r"\u0062",
    r"it\u0065ms",
    r"\/",
    "a.b",
    "~",
    "0",
    "é",
    r"\u00e9",
    r"\ud800",
];
const SCALARS: [&str; 22] = [
    "null",
    "null",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1.10",
    "1E400",
    "12345678901234567890123",
    "\"\"",
    "\"\"",
    "\"x\"",
    r#""\u0061""#,
    r#""\\""#,
    r#""\\\"[{,""#,
    r#""\ud83d\ude00""#,
    r#""\udc00""#,
    "\"é😀\"",
    "-1.5e-7",
    "\"}]\"",
    "\"a somewhat longer text, with no escape at all\"",
];
const PLAIN: [&str; 24] = [
    "null",
    "null",
    "true",
    "false",
    "0",
    "7",
    "-0",
    "10",
    "12345678",
    "123456789",
    "1.10",
    "1E400",
    "-12",
    "12345678901234567890123",
    "\"\"",
    "\"\"",
    "\"x\"",
    "\"null\"",
    "\"a:b\"",
    "\",\"",
    "\"}]\"",
    "\"[{,\"",
    "\"é😀\"",
    "\"a somewhat longer text, with no escape at all\"",
];
const NAMES: [&str; 17] = [
    "a", "a", "a", "a", "b", "b", "b", "c", "c", "items", "data", "raw", "/", "a.b", "~", "0", "é",
];

/// A valid document with random white space and spellings.
pub fn document(prng: &mut impl Choices) -> String {
    let mut out = Text { out: String::new(), white: prng.one_in(4) };
    out.white(prng);
    let mut budget = 4 + prng.below(40);
    match prng.below(12) {
        0 => out.value(prng, 0, &mut budget),
        1..=4 => out.list_of_items(prng, &mut budget),
        5 | 6 => out.object(prng, 0, &mut budget),
        7 => out.raw_text(prng),
        _ => out.wrapper(prng, &mut budget),
    }
    out.white(prng);
    out.out
}

/// A document with so many items that it is longer than any buffer or scan window.
pub fn long_document(prng: &mut impl Choices) -> String {
    let mut out = Text { out: String::new(), white: prng.one_in(4) };
    let wrapped = prng.one_in(2);
    out.out.push_str(if wrapped { r#"{"a":{"b":null},"data":["# } else { "[" });
    for number in 0..300 + prng.below(900) {
        if number > 0 {
            out.token(prng, ",");
        }
        match prng.below(12) {
            0 => {
                let text = prng.pick(&[r"x", r"\\", r#"\""#, "é", r"\u0061", "{[,"]);
                let text = text.repeat(prng.below(300));
                out.out.push_str(&format!("{{\"a\":\"{text}\",\"b\":[\"{text}\"]}}"));
            }
            1 => out.value(prng, 1, &mut 30),
            _ => out.object(prng, 1, &mut 30),
        }
    }
    out.out.push_str(if wrapped { r#"],"c":[1]}"# } else { "]" });
    out.out
}

/// A document of objects with many common scalars, for the fast loops over members. Names have common beginnings, lengths need
/// more than one byte, and windows end at any place.
pub fn compact_document(prng: &mut impl Choices) -> String {
    let mut all = alike();
    let names: Vec<String> =
        (0..1 + prng.below(40)).map(|_| all.swap_remove(prng.below(all.len()))).collect();
    let odd = prng.pick(&[0, 0, 0, 20, 400]);
    let wrapped = prng.one_in(2);
    let mut out = String::new();
    if wrapped {
        out.push_str(&format!("{{\"pad\":\"{}\",\"items\":", "x".repeat(prng.below(4200))));
    }
    out.push('[');
    for number in 0..1 + prng.below(24) {
        out.push_str(if number > 0 { ",{" } else { "{" });
        let first = prng.below(names.len());
        for member in 0..prng.below(names.len() + 2) {
            // Few are duplicates, because for some rules the model does not define their result.
            let name = if prng.one_in(200) { first } else { first + member };
            out.push_str(if member > 0 { "," } else { "" });
            out.push_str(&format!("\"{}\":", names[name % names.len()]));
            let unusual = odd > 0 && prng.one_in(odd);
            match prng.below(60) {
                _ if unusual => out.push_str(prng.pick(&[" 1", "2 ", r#""\\""#, r#""\u0061""#])),
                0 => out.push_str(r#"{"a":1,"ab":"x","abc":null,"customer_id":[]}"#),
                1 => out.push_str(r#"[1,{"a":2,"b":3,"c":4}]"#),
                2 => out.push_str(&format!("\"{}\"", "é".repeat(prng.below(2100)))),
                3..=5 => out.push_str(&(prng.next_u64() >> prng.below(64)).to_string()),
                _ => out.push_str(prng.pick(&PLAIN)),
            }
        }
        out.push('}');
    }
    out.push_str(if wrapped { "]}" } else { "]" });
    out
}

/// Names of 0 to 20 bytes with the same beginning, names with 7 to 16 bytes in common, names longer than 255 bytes, and names
/// that are not ASCII.
fn alike() -> Vec<String> {
    const LETTERS: &str = "abcdefghijklmnopqrst";
    let mut names: Vec<String> = (0..=LETTERS.len()).map(|len| LETTERS[..len].into()).collect();
    for from in [6, 7, 8, 14, 15, 16, 17] {
        names.push(format!("{}_{}", &LETTERS[..from], &LETTERS[from + 1..]));
        names.push(format!("{}_", &LETTERS[..from]));
    }
    names.extend((0..4).map(|number| format!("customfield_1000{number}")));
    names.extend(["k".repeat(255), "k".repeat(256), "k".repeat(257), "k".repeat(511)]);
    let others =
        ["b", "c", "0", "1", "é", "éa", "naïve", "日本語の名前", "日本語の名後", "😀😀", "😀😁"];
    names.extend(others.map(String::from));
    names
}

struct Text {
    out: String,
    white: bool,
}

impl Text {
    fn white(&mut self, prng: &mut impl Choices) {
        while self.white && prng.one_in(3) {
            self.out.push(prng.pick(&[' ', '\n', '\t', '\r']));
        }
    }

    fn token(&mut self, prng: &mut impl Choices, text: &str) {
        self.white(prng);
        self.out.push_str(text);
        self.white(prng);
    }

    fn value(&mut self, prng: &mut impl Choices, depth: usize, budget: &mut usize) {
        *budget = budget.saturating_sub(1);
        let leaf = *budget == 0 || depth > 6 || prng.one_in(3);
        match prng.below(2) {
            _ if leaf => {
                let scalar = prng.pick(&SCALARS);
                self.token(prng, scalar);
            }
            0 => self.object(prng, depth, budget),
            _ => self.array(prng, depth, budget),
        }
    }

    fn key(&mut self, prng: &mut impl Choices) {
        let key = format!("\"{}\"", prng.pick(&KEYS));
        self.token(prng, &key);
        self.token(prng, ":");
    }

    fn object(&mut self, prng: &mut impl Choices, depth: usize, budget: &mut usize) {
        self.token(prng, "{");
        for number in 0..prng.below(5) {
            if number > 0 {
                self.token(prng, ",");
            }
            self.key(prng);
            self.value(prng, depth + 1, budget);
        }
        self.token(prng, "}");
    }

    fn array(&mut self, prng: &mut impl Choices, depth: usize, budget: &mut usize) {
        self.token(prng, "[");
        for number in 0..prng.below(4) {
            if number > 0 {
                self.token(prng, ",");
            }
            self.value(prng, depth + 1, budget);
        }
        self.token(prng, "]");
    }

    fn list_of_items(&mut self, prng: &mut impl Choices, budget: &mut usize) {
        self.token(prng, "[");
        for number in 0..prng.below(6) {
            if number > 0 {
                self.token(prng, ",");
            }
            if prng.one_in(6) {
                self.value(prng, 1, budget);
            } else {
                self.object(prng, 1, budget);
            }
        }
        self.token(prng, "]");
    }

    /// An object in the shape of a response: a list in a member, and other members around it.
    fn wrapper(&mut self, prng: &mut impl Choices, budget: &mut usize) {
        self.token(prng, "{");
        let members = 1 + prng.below(4);
        for number in 0..members {
            if number > 0 {
                self.token(prng, ",");
            }
            if prng.one_in(3) {
                self.key(prng);
                self.value(prng, 1, budget);
            } else {
                let key = prng.pick(&["\"items\"", "\"result\"", "\"data\"", "\"a\""]);
                self.token(prng, key);
                self.token(prng, ":");
                self.list_of_items(prng, budget);
            }
        }
        self.token(prng, "}");
    }

    fn raw_text(&mut self, prng: &mut impl Choices) {
        self.token(prng, "{");
        for number in 0..1 + prng.below(3) {
            if number > 0 {
                self.token(prng, ",");
            }
            let member = prng.pick(&[
                ("\"raw\"", "\"text\""),
                (r#""r\u0061w""#, "\"\""),
                ("\"_exit_code\"", "0"),
                ("\"stderr\"", "\"\""),
                ("\"_compact\"", "null"),
                ("\"a\"", "null"),
            ]);
            self.token(prng, member.0);
            self.token(prng, ":");
            self.token(prng, member.1);
        }
        self.token(prng, "}");
    }
}

/// Rules for a document. Half of their paths lead to a value of it.
pub fn rules(prng: &mut impl Choices, document: &Node) -> Rules {
    let mut rules = Rules::default();
    let mut document = document;
    if prng.one_in(6) {
        let path = path(prng, &Guide { start: &[document] }, false);
        document = extracted(document, &path.tokens).unwrap_or(document);
        rules.extract = Some(path);
    }
    let top = &Guide { start: std::slice::from_ref(&document) };
    let mut objects = Vec::new();
    containers(document, &mut objects);
    let items = &Guide { start: &objects };
    if prng.one_in(3) {
        rules.retain = Some((0..1 + prng.below(4)).map(|_| pointer(prng, top)).collect());
        if prng.one_in(3) {
            return rules;
        }
    }
    if prng.one_in(2) {
        rules.select = Some(select(prng, items));
    }
    if prng.one_in(3) {
        rules.exclude = (0..1 + prng.below(3)).map(|_| path(prng, items, true)).collect();
    }
    if prng.one_in(5) {
        rules.omit = (0..1 + prng.below(3)).map(|_| path(prng, items, true)).collect();
    }
    if prng.one_in(8) {
        rules.requires = (0..1 + prng.below(2)).map(|_| path(prng, top, true)).collect();
    }
    if prng.one_in(4) {
        rules.conditions = (0..1 + prng.below(2)).map(|_| condition(prng, items)).collect();
    }
    rules.root = match prng.below(8) {
        0..=3 => Root::Auto,
        4 => Root::First,
        5 => Root::Object,
        _ => Root::At(path(prng, top, false)),
    };
    rules.drop_siblings = prng.one_in(5);
    if prng.one_in(3) {
        rules.max_items = 1 + prng.below(4);
        rules.stop_early = prng.one_in(3);
    }
    rules.drop_nulls = prng.one_in(5);
    rules.drop_empty = prng.one_in(5);
    rules.closed = prng.pick(&[None, None, None, Some(true), Some(false)]);
    let is_closed = rules.is_closed();
    rules.keeps_kinds = !is_closed && prng.one_in(3);
    rules.duplicates = match prng.below(8) {
        0 => DuplicateKeys::Count,
        1 => DuplicateKeys::Reject,
        _ => DuplicateKeys::First,
    };
    rules
}

fn condition(prng: &mut impl Choices, items: &Guide<'_>) -> Condition {
    let parts = [
        TestPart::Exists,
        TestPart::Equals("null"),
        TestPart::Equals("0"),
        TestPart::Equals("\"a\""),
        TestPart::In(&["\"x\"", "true", "1.1", "7"]),
        TestPart::Less(8),
        TestPart::Greater(0),
    ];
    Condition { path: path(prng, items, true), part: prng.pick(&parts), not: prng.one_in(3) }
}

fn select(prng: &mut impl Choices, items: &Guide<'_>) -> Vec<Source> {
    let mut sources = Vec::<Source>::new();
    for number in 0..1 + prng.below(4) {
        let mut source = Source { key: None, path: path(prng, items, true), fields: Vec::new() };
        if prng.one_in(3) {
            // Braces after a pointer are part of its last name.
            source.path = dot_path(prng, source.path.tokens);
            source.fields = fields(prng, 0);
        }
        let taken = |source: &Source, sources: &[Source]| {
            let key = source.output_key();
            key.is_none() || sources.iter().any(|other| other.output_key() == key)
        };
        if prng.one_in(3) || taken(&source, &sources) {
            source.key = Some((prng.pick(&["a", "b", "k", "é", "q\"t"])).to_owned());
        }
        if taken(&source, &sources) {
            source.key = Some(format!("k{number}"));
        }
        sources.push(source);
    }
    sources
}

/// The fields of a projection.
fn fields(prng: &mut impl Choices, depth: usize) -> Vec<Field> {
    let mut fields = Vec::<Field>::new();
    for number in 0..1 + prng.below(3) {
        let name = prng.pick(&NAMES).to_owned();
        let key = prng.one_in(4).then(|| format!("f{number}"));
        let levels = if prng.one_in(3) { 1 + prng.below(2) } else { 0 };
        let inner = depth < 2 && prng.one_in(3);
        let inner = if inner { self::fields(prng, depth + 1) } else { Vec::new() };
        let field = Field { name, key, levels, fields: inner };
        let is_taken =
            |other: &Field| other.name == field.name || other.output_key() == field.output_key();
        if !fields.iter().any(is_taken) {
            fields.push(field);
        }
    }
    fields
}

/// The values from which paths that lead somewhere may begin.
struct Guide<'a> {
    start: &'a [&'a Node],
}

fn containers<'a>(node: &'a Node, found: &mut Vec<&'a Node>) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Array(elements) => elements.iter().for_each(|node| containers(node, found)),
        Value::Object(members) => {
            found.push(node);
            members.iter().for_each(|member| containers(&member.node, found));
        }
    }
}

fn tokens(prng: &mut impl Choices, guide: &Guide<'_>, wildcards: bool) -> Vec<Token> {
    let mut at = if guide.start.is_empty() { None } else { Some(prng.pick(guide.start)) };
    if prng.one_in(2) {
        at = None;
    }
    let mut tokens = Vec::new();
    for _ in 0..1 + prng.below(3) {
        let next = at.and_then(|node| {
            let count = match &node.value {
                Value::Scalar(_) => 0,
                Value::Array(elements) => elements.len(),
                Value::Object(members) => members.len(),
            };
            (count > 0).then(|| (node, prng.below(count)))
        });
        let Some((node, child)) = next else {
            tokens.push(random_token(prng, wildcards));
            continue;
        };
        at = Some(node.child(child));
        let name = match &node.value {
            Value::Object(members) => members[child].name.clone(),
            _ => Some(child.to_string()),
        };
        tokens.push(match name {
            Some(name) if !(wildcards && prng.one_in(4)) => Token::Name(name),
            // In some rules a name applies to the elements of an array; a wildcard always does.
            _ if wildcards => Token::Any,
            _ => random_token(prng, false),
        });
        if !wildcards && node.is_array() && prng.one_in(2) {
            tokens.pop();
        }
    }
    if tokens.is_empty() { vec![random_token(prng, wildcards)] } else { tokens }
}

fn random_token(prng: &mut impl Choices, wildcards: bool) -> Token {
    match prng.below(10) {
        0 | 1 if wildcards => Token::Any,
        2 => Token::Name(prng.below(3).to_string()),
        _ => Token::Name(prng.pick(&NAMES).to_owned()),
    }
}

/// A pointer for `retain`, sometimes to the whole document.
fn pointer(prng: &mut impl Choices, guide: &Guide<'_>) -> Path {
    let tokens = if prng.one_in(30) { Vec::new() } else { tokens(prng, guide, false) };
    Path { text: pointer_text(&tokens), tokens, brackets: Vec::new() }
}

/// The text of a pointer that often leads to a value, for rules that the model does not have.
pub fn pointer_into(prng: &mut impl Choices, document: &Node) -> String {
    pointer(prng, &Guide { start: &[document] }).text
}

/// A path in any of its forms.
fn path(prng: &mut impl Choices, guide: &Guide<'_>, wildcards: bool) -> Path {
    let tokens = tokens(prng, guide, wildcards);
    if prng.one_in(4) && !tokens.contains(&Token::Any) {
        return Path { text: pointer_text(&tokens), tokens, brackets: Vec::new() };
    }
    dot_path(prng, tokens)
}

fn pointer_text(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        let Token::Name(name) = token else { unreachable!("a pointer has no wildcards") };
        text.push('/');
        text.push_str(&name.replace('~', "~0").replace('/', "~1"));
    }
    text
}

/// Whether a name has another meaning in a dot path, or cannot be written in one.
fn needs_quotes(name: &str) -> bool {
    name.is_empty()
        || name.starts_with('/')
        || name.trim_matches(' ') != name
        || name.contains(['*', '{', '}', '|', '?', '$'])
}

fn dot_path(prng: &mut impl Choices, tokens: Vec<Token>) -> Path {
    let (mut text, mut brackets) = (String::new(), Vec::new());
    for (number, token) in tokens.iter().enumerate() {
        let dot = if number > 0 || prng.one_in(8) { "." } else { "" };
        match token {
            // Brackets at the start would select from the items themselves, and are refused.
            Token::Any if number == 0 || prng.one_in(2) => text.push_str(&format!("{dot}*")),
            Token::Any => {
                brackets.push(number);
                text.push_str(prng.pick(&["[]", "[*]"]));
            }
            Token::Name(name) if token.index().is_some() && prng.one_in(2) => {
                text.push_str(&format!("[{name}]"));
            }
            Token::Name(name) if prng.one_in(6) || needs_quotes(name) => {
                let name = name.replace('\\', r"\\").replace('"', "\\\"");
                text.push_str(&format!("[\"{name}\"]"));
            }
            Token::Name(name) => {
                text.push_str(dot);
                for char in name.chars() {
                    text.push_str(if matches!(char, '.' | '[' | ']' | '\\' | '"') {
                        "\\"
                    } else {
                        ""
                    });
                    text.push(char);
                }
            }
        }
    }
    Path { tokens, text, brackets }
}
