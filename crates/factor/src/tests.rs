//! Tests of both directions.

use std::collections::BTreeMap;

use tamis_json::limits::Limits;

use crate::restore::restore;
use crate::{FactorSkip, Factored, factor_slice};

fn factored(document: &str) -> Result<(String, Factored), FactorSkip> {
    let (text, factored) = factor_slice(document.as_bytes()).unwrap()?;
    Ok((String::from_utf8(text).unwrap(), factored))
}

fn restored(document: &str) -> Result<String, String> {
    let mut out = Vec::new();
    let limits = Limits::new().with_held(1 << 20).with_spill(0);
    match restore(document.as_bytes(), &limits, |bytes| out.extend_from_slice(bytes)) {
        Ok(()) => Ok(String::from_utf8(out).unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

/// A value whose scalars are their texts, and whose objects have no order.
#[derive(Debug, PartialEq)]
enum Value {
    Scalar(String),
    Array(Vec<Value>),
    Object(BTreeMap<String, Vec<Value>>),
}

fn parse(text: &[u8], at: &mut usize) -> Value {
    let scalar = |at: &mut usize| {
        let start = *at;
        if text[start] == b'"' {
            *at += 1;
            while text[*at] != b'"' {
                *at += if text[*at] == b'\\' { 2 } else { 1 };
            }
            *at += 1;
        } else {
            while !b",]}".contains(text.get(*at).unwrap_or(&b',')) {
                *at += 1;
            }
        }
        String::from_utf8(text[start..*at].to_vec()).unwrap()
    };
    match text[*at] {
        b'[' => {
            let mut elements = Vec::new();
            *at += 1;
            while text[*at] != b']' {
                if text[*at] == b',' {
                    *at += 1;
                }
                elements.push(parse(text, at));
            }
            *at += 1;
            Value::Array(elements)
        }
        b'{' => {
            let mut members: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            *at += 1;
            while text[*at] != b'}' {
                if text[*at] == b',' {
                    *at += 1;
                }
                let name = scalar(at);
                *at += 1;
                let mut plain = Vec::new();
                crate::reader::unescape(&name.as_bytes()[1..name.len() - 1], &mut plain);
                let name = String::from_utf8_lossy(&plain).into_owned();
                members.entry(name).or_default().push(parse(text, at));
            }
            *at += 1;
            Value::Object(members)
        }
        _ => Value::Scalar(scalar(at)),
    }
}

fn value(text: &str) -> Value {
    parse(text.as_bytes(), &mut 0)
}

#[track_caller]
fn check(document: &str) -> Result<(String, Factored), FactorSkip> {
    let result = factored(document);
    if let Ok((text, factored)) = &result {
        serde_json::from_str::<serde::de::IgnoredAny>(text)
            .unwrap_or_else(|error| panic!("{error}\n{document}\n{text}"));
        assert_eq!(factored.bytes as usize, document.len() - text.len(), "{text}");
        let restored = restored(text).unwrap_or_else(|error| panic!("{error}\n{document}\n{text}"));
        assert_eq!(value(&restored), value(document), "{document}\n{text}\n{restored}");
    }
    result
}

/// Pointers of these names had one hash before it had a secret key.
#[test]
fn pointers_with_names_that_were_made_for_the_hash() {
    let [one, two] = ["one ", "two "].map(|word| format!("{{\"k\":\"{}\"}}", word.repeat(40)));
    let document = format!(
        "[{{\"aaaaaaaaAAAAAAAA\":{one},\"2fS_Qta2mnQybVoR\":{two}}},{{\"x\":{one}}},{{\"x\":{two}}},\
         {{\"x\":{one}}},{{\"x\":{two}}}]"
    );
    assert!(check(&document).unwrap().1.refs > 0);
}

#[test]
fn a_short_document_may_not_stand_for_a_long_one() {
    let mut document = format!("{{\"_factored\":1,\"b0\":[\"{}\"]", "y".repeat(100));
    for level in 1..30 {
        let before = level - 1;
        let reference = format!("{{\"$ref\":\"#/b{before}\"}}");
        document.push_str(&format!(",\"b{level}\":[{reference},{reference}]"));
    }
    document.push('}');
    let error = restored(&document).unwrap_err();
    assert!(error.contains("exceeds"), "{error}");
}

#[track_caller]
fn factors(document: &str, expected: &str) {
    let (text, _) = check(document).unwrap();
    assert_eq!(text, expected);
}

#[test]
fn constants_are_written_once() {
    factors(
        r#"[{"id":1,"private":false,"owner":{"type":"User","id":7}},{"id":2,"private":false,"owner":{"type":"User","id":8}},{"id":3,"private":false,"owner":{"type":"User","id":9}}]"#,
        r#"{"_factored":1,"_all":{"private":false,"owner":{"type":"User"}},"_items":[{"id":1,"owner":{"id":7}},{"id":2,"owner":{"id":8}},{"id":3,"owner":{"id":9}}]}"#,
    );
}

#[test]
fn strings_follow_from_others() {
    factors(
        r#"{"total":3,"items":[{"url":"https://host.example/users/mira","login":"mira"},{"url":"https://host.example/users/sol","login":"sol"},{"url":"https://host.example/users/ana","login":"ana"}]}"#,
        r#"{"_factored":1,"total":3,"_made":{"url":"https://host.example/users/{login}"},"items":[{"login":"mira"},{"login":"sol"},{"login":"ana"}]}"#,
    );
}

/// Each of two members with one text may be made from the other one, or from a part of it.
#[test]
fn copies_of_a_member_that_is_made_are_made() {
    let items: Vec<String> = (10..90)
        .map(|id| {
            format!(
                r#"{{"url":"https://host.example/{id}","files":"https://host.example/{id}/files","upload":"https://host.example/{id}/files","id":{id}}}"#
            )
        })
        .collect();
    let made =
        r#""_made":{"url":"https://host.example/{id}","files":"{url}/files","upload":"{files}"}"#;
    for count in [3, 8, 80] {
        let ids: Vec<String> = (10..10 + count).map(|id| format!(r#"{{"id":{id}}}"#)).collect();
        let expected = format!(r#"{{"_factored":1,{made},"_items":[{}]}}"#, ids.join(","));
        factors(&format!("[{}]", items[..count].join(",")), &expected);
    }
}

#[test]
fn containers_are_referred_to() {
    let user = r#"{"login":"mira","url":"https://host.example/users/mira","avatar":"https://host.example/avatars/17.png","admin":false}"#;
    let document = format!(r#"{{"one":{user},"two":{{"user":{user}}}}}"#);
    let expected =
        format!(r##"{{"_factored":1,"one":{user},"two":{{"user":{{"$ref":"#/one"}}}}}}"##);
    factors(&document, &expected);
}

#[test]
fn arrays_inside_are_factored_where_the_outer_one_is_not() {
    let items = |from: u32| {
        let items: Vec<String> = (from..from + 4)
            .map(|id| format!(r#"{{"id":{id},"state":"running","kind":"instance","zone":"eu"}}"#))
            .collect();
        items.join(",")
    };
    let document = format!(r#"{{"groups":[{{"instances":[{}]}}]}}"#, items(1));
    let (text, counts) = check(&document).unwrap();
    assert_eq!(counts.all, 3);
    assert!(text.starts_with(r#"{"_factored":1,"groups":[{"_all":{"state":"#), "{text}");
}

#[test]
fn documents_stay_as_they_are() {
    for scalar in ["1.10", "null", "true", r#""a string that is a whole document""#] {
        assert_eq!(check(scalar).unwrap_err(), FactorSkip::Gain);
    }
    assert_eq!(factored(r#"{"a":1}"#), Err(FactorSkip::Gain));
    for name in ["_all", "_made", "_items", "$ref", "_factored", "\\u005fall"] {
        let document =
            format!(r#"[{{"a":"equal"}},{{"a":"equal"}},{{"a":"equal","b":[{{"{name}":1}}]}}]"#);
        assert_eq!(factored(&document), Err(FactorSkip::Names));
    }
    let twice = r#"[{"a":"equal","b":1,"b":2},{"a":"equal"},{"a":"equal"},{"a":"equal"}]"#;
    assert_eq!(factored(twice), Err(FactorSkip::Gain));
    let two = r#"[{"a":"equal and long"},{"a":"equal and long"}]"#;
    assert_eq!(factored(two), Err(FactorSkip::Gain));
}

#[test]
fn restoring_fails_with_a_place() {
    for (document, expected) in [
        (r#"{"_factored":2}"#, "expected 1"),
        (r##"{"_factored":1,"a":{"$ref":"#/b"}}"##, "`#/b` is not an object"),
        (r##"{"_factored":1,"a":{"$ref":"#/a"}}"##, "`#/a` is not an object"),
        (r##"{"_factored":1,"a":{"$ref":"#/b","c":1}}"##, "only member"),
        (r#"{"_factored":1,"_all":{"a":1},"b":2}"#, "expected an array"),
        (r#"{"_factored":1,"_all":{"a":1}}"#, "expected an array"),
        (r#"{"_factored":1,"_all":{"a":1},"b":[{"a":1}]}"#, "has a member `a`"),
        (r#"{"_factored":1,"_made":{"a":"{c}"},"b":[{"d":1}]}"#, "`_made` uses `c`"),
        (r#"{"_factored":1,"_made":{"a":"{c"},"b":[{"d":1}]}"#, "expected `{path}`"),
        (r#"{"_factored":1,"_items":[],"b":1}"#, "unexpected member after `_items`"),
    ] {
        let error = restored(document).unwrap_err();
        assert!(error.contains(expected), "{document}: {error}");
    }
}

#[test]
fn restoring_is_bounded() {
    let mut made = String::from(r#""m0":"{x}{x}""#);
    for index in 1..60 {
        made += &format!(r#","m{index}":"{{m{before}}}{{m{before}}}""#, before = index - 1);
    }
    let doubling = format!(r#"{{"_factored":1,"_made":{{{made}}},"items":[{{"x":"ab"}}]}}"#);
    assert!(restored(&doubling).unwrap_err().contains("more than"));
    // Members that each make less than the limit make more together.
    let members: Vec<String> =
        (0..9000).map(|index| format!(r#""m{index}":"{}""#, "{a}".repeat(16))).collect();
    let many = format!(
        r#"{{"_factored":1,"_made":{{{}}},"items":[{{"a":"{}"}}]}}"#,
        members.join(","),
        "y".repeat(1000)
    );
    let error = restored(&many).unwrap_err();
    assert!(
        error.contains("the members that the items share make the document too long"),
        "{error}"
    );
    let mut refs = String::from(r#""r0":["x"]"#);
    for index in 1..60 {
        let before = index - 1;
        refs += &format!(r##","r{index}":[{{"$ref":"#/r{before}"}},{{"$ref":"#/r{before}"}}]"##);
    }
    let doubling = format!(r#"{{"_factored":1,{refs}}}"#);
    assert!(restored(&doubling).unwrap_err().contains("exceeds"));
}

#[test]
fn white_space_and_marks_are_restored() {
    let document = r#" { "_factored" : 1 , "_all" : { "a" : [ 1 , 2 ] } , "_items" : [ { "b" : 1 } ] , "_omitted" : { "items" : 3 } } "#;
    assert_eq!(restored(document).unwrap(), r#"[{"b":1,"a":[1,2]},{"_omitted":{"items":3}}]"#);
    let plain = r#" { "a" : 1 } "#;
    assert_eq!(restored(plain).unwrap(), plain);
}

/// A simple generator with planted repetitions.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % most
    }

    fn name(&mut self) -> String {
        const NAMES: [&str; 14] = [
            "id", "login", "url", "html_url", "owner", "a/b", "c~d", "\\u0061x", "q\\\"r", "é",
            "all", "made", "", "x.y",
        ];
        NAMES[self.below(NAMES.len() as u64) as usize].to_owned()
    }

    fn scalar(&mut self) -> String {
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
        SCALARS[self.below(SCALARS.len() as u64) as usize].to_owned()
    }

    fn value(&mut self, depth: u64) -> String {
        match self.below(if depth == 0 { 4 } else { 7 }) {
            0..4 => self.scalar(),
            4 => {
                let elements: Vec<_> = (0..self.below(4)).map(|_| self.value(depth - 1)).collect();
                format!("[{}]", elements.join(","))
            }
            _ => self.object(depth),
        }
    }

    fn object(&mut self, depth: u64) -> String {
        let count = self.below(5);
        let mut members: Vec<String> = Vec::new();
        let mut names = Vec::new();
        for _ in 0..count {
            let name = self.name();
            // Seldom a name twice.
            if names.contains(&name) && self.below(50) > 0 {
                continue;
            }
            members.push(format!("\"{name}\":{}", self.value(depth.saturating_sub(1))));
            names.push(name);
        }
        format!("{{{}}}", members.join(","))
    }

    /// An array whose items are like the first one.
    fn items(&mut self) -> String {
        let common = self.object(3);
        let inner: Vec<String> = (0..self.below(3)).map(|_| self.value(3)).collect();
        let count = self.below(8);
        let mut items = Vec::new();
        for index in 0..count {
            let login = ["mira", "sol", "a{b", "é", "x\\\"y", "7", ""][self.below(7) as usize];
            let mut members = vec![
                format!(r#""key{}":{index}"#, self.below(30) / 29),
                format!(r#""login":"{login}""#),
                format!(
                    r#""user":{{"login":"{login}","link":"https://host.example/{login}/{{x}}"}}"#
                ),
                format!(r#""common":{common}"#),
                format!(
                    r#""circle":"<{login}>","circle2":"{login}>","e":{{}},"deep":{{"e":{{"v":{index}}},"t":[]}}"#
                ),
            ];
            for (place, inner) in inner.iter().enumerate() {
                if self.below(10) > 0 {
                    members.push(format!(r#""inner{place}":{inner}"#));
                }
            }
            if self.below(6) == 0 {
                members.push(format!(r#""extra":{}"#, self.value(2)));
            }
            items.push(format!("{{{}}}", members.join(",")));
            if self.below(60) == 0 {
                items.push(self.value(1));
            }
        }
        format!("[{}]", items.join(","))
    }

    fn document(&mut self) -> String {
        match self.below(4) {
            0 => self.items(),
            1 => format!(
                r#"{{"a":{},"items":{},"b":{}}}"#,
                self.value(2),
                self.items(),
                self.items()
            ),
            2 => format!(r#"[{{"list":{}}},{{"list":{}}}]"#, self.items(), self.items()),
            _ => format!(
                r#"{{"x":{{"list":{}}},"y":{},"z":{}}}"#,
                self.items(),
                self.value(3),
                self.value(3)
            ),
        }
    }
}

#[test]
fn random_documents_are_restored() {
    let count = std::env::var("TAMIS_FACTOR_RUNS").ok().and_then(|runs| runs.parse().ok());
    let mut factored = 0;
    let mut sums = Factored::default();
    for seed in 0..count.unwrap_or(3000) {
        let document = Random(seed).document();
        if let Ok((_, counts)) = check(&document) {
            factored += 1;
            sums.all += counts.all;
            sums.made += counts.made;
            sums.refs += counts.refs;
        }
    }
    assert!(
        factored > 1000 && sums.made > 100 && sums.all > 1000 && sums.refs > 100,
        "{factored} {sums:?}"
    );
}

/// Documents that are hard to factor, with about `size` of their parts.
fn hostile(size: usize) -> Vec<(&'static str, String)> {
    let repeat = |count: usize, part: &dyn Fn(usize) -> String| {
        (0..count).map(part).collect::<Vec<_>>().join(",")
    };
    let members = |count: usize, part: &dyn Fn(usize) -> String| {
        format!("{{{}}}", repeat(count, &|index| format!("\"k{index}\":{}", part(index))))
    };
    let wide = members(size, &|index| index.to_string());
    let texts = members(size, &|index| format!("\"a{index}b\""));
    let same_texts = members(size, &|_| "\"abcabcabcabc\"".to_owned());
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(size), close.repeat(size));
    let container = r#"{"name":"a container that is long enough to be replaced by a reference to an equal one","n":0}"#;
    vec![
        ("wide items", format!("[{wide},{wide},{wide}]")),
        ("many strings", format!("[{texts},{texts},{texts}]")),
        ("equal strings", format!("[{same_texts},{same_texts},{same_texts}]")),
        (
            "many items",
            format!(
                "[{}]",
                repeat(size, &|index| {
                    format!(
                        r#"{{"id":{index},"url":"https://host.example/{index}/{index}","all":true}}"#
                    )
                })
            ),
        ),
        (
            "other names in each item",
            format!("[{}]", repeat(size, &|index| { format!(r#"{{"k{index}":{index}}}"#) })),
        ),
        ("deep arrays", format!("[{0},{0},{0}]", nested("[", "]"))),
        ("deep objects", format!("[{0},{0},{0}]", nested(r#"{"a":"#, "}"))),
        ("deep lists of items", nested(r#"[{"a":1},{"a":1},{"a":"#, "}]")),
        ("equal containers", format!("[{}]", repeat(size, &|_| container.to_owned()))),
        (
            "equal containers at many depths",
            format!("[{0},{0}]", nested(&format!(r#"{{"c":{container},"a":"#), "}")),
        ),
        (
            "a long string",
            format!(r#"[{{"a":"{0}"}},{{"a":"{0}"}},{{"a":"{0}"}}]"#, "x{".repeat(size)),
        ),
        (
            "strings of one letter",
            format!(
                "[{}]",
                repeat(size, &|index| {
                    format!(r#"{{"a":"{}","b":"{}"}}"#, "x".repeat(index % 1500), "x".repeat(700))
                })
            ),
        ),
        ("white elements", format!("[{}]", repeat(size, &|_| "{}".to_owned()))),
        (
            "numbers",
            format!(
                "[{}]",
                repeat(size, &|index| {
                    format!(r#"{{"n":1e{index},"m":-0.0,"big":{}}}"#, "9".repeat(30))
                })
            ),
        ),
        (
            "surrogates",
            format!(
                "[{}]",
                repeat(size, &|index| {
                    format!(r#"{{"a":"\ud800{index}","b":"x\ud800{index}"}}"#)
                })
            ),
        ),
        (
            "names twice",
            format!(
                "[{}]",
                repeat(size, &|_| {
                    r#"{"a":{"b":1,"\u0062":2},"c":"a text that all items have"}"#.to_owned()
                })
            ),
        ),
    ]
}

#[test]
fn hostile_documents_are_restored() {
    for (name, document) in hostile(700) {
        let result = check(&document);
        let is_factored = result.is_ok();
        assert!(is_factored || matches!(result, Err(FactorSkip::Gain)), "{name}: {result:?}");
    }
    // Each name of a factored document, in each spelling, at any depth.
    for name in ["_factored", "_all", "_made", "_items", "$ref"] {
        let escaped: String = name.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        for spelled in [name, &escaped] {
            let item = r#"{"a":"a text that all of the items have"}"#;
            let document = format!(r#"[{item},{item},{item},[[{{"x":{{"{spelled}":1}}}}]]]"#);
            assert_eq!(check(&document).unwrap_err(), FactorSkip::Names, "{spelled}");
            // In a string it is a text like others.
            let document = format!(r#"[{item},{item},{item},[["{spelled}"]]]"#);
            assert_ne!(check(&document).err(), Some(FactorSkip::Names), "{spelled}");
        }
    }
}

#[cfg(debug_assertions)]
#[test]
fn work_is_linear_in_the_document() {
    use tamis_json::test_work::done;
    let work = |document: &str| {
        done();
        _ = factored(document);
        done().iter().sum::<u64>()
    };
    for ((name, small), (_, large)) in hostile(2_000).into_iter().zip(hostile(8_000)) {
        let (few, many) = (work(&small), work(&large));
        let longer = large.len() as u64 * 100 / small.len() as u64;
        assert!(many * 100 <= few * longer * 3 / 2 + 1_000_000, "{name}: {few} {many} {longer}");
    }
}
