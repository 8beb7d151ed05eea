//! The schema accepts exactly what the reader of specs accepts: each key, each word, and no other.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use tamis_json::regex_budget::RegexBudget;

use super::delivery::Delivery;
use super::error::Text;
use super::inherit;
use super::server::ServerSettings;
use super::settings::WrittenSettings;
use super::{Manifest, yaml};
use tamis::Spec;

fn schema() -> Json {
    serde_json::from_str(Manifest::schema()).unwrap()
}

/// Returns the error that reading this spec reports.
fn flaw(spec: &str) -> String {
    let text = Text::new("x.yaml", spec);
    let node = yaml::parse(&text, &yaml::FileLimits::MANIFEST).unwrap();
    node.read::<Spec>(spec).unwrap_err().message()
}

/// Returns the keys that a reader lists when it is given one that it does not know.
fn keys_known(spec: &str) -> BTreeSet<String> {
    let message = flaw(spec);
    let (_, keys) = message.split_once("; expected one of ").unwrap();
    keys.split(", ").map(str::to_owned).collect()
}

const UNKNOWN: &str = "{qqqqqqqqqqqqqq: 1}";
/// The keys whose values are maps. `select` may be one as well; the schema's own tests cover it.
const MAPS: [&str; 4] = ["text_filter", "budget", "compact", "content"];

fn keys_of(definition: &Json) -> BTreeSet<String> {
    assert_eq!(definition["additionalProperties"], false);
    definition["properties"].as_object().unwrap().keys().cloned().collect()
}

#[test]
fn the_schema_has_the_keys_that_specs_read() {
    let schema = schema();
    let mut keys = keys_known(UNKNOWN);
    keys.extend(Delivery::KEYS.map(str::to_owned));
    keys.extend(inherit::KEYS.map(str::to_owned));
    keys.insert(inherit::TIGHT.to_owned());
    assert_eq!(keys_of(&schema["$defs"]["spec"]), keys);
    for map in MAPS {
        let keys = match map {
            // Too few words for a suggestion: the error lists all of them.
            "budget" => ["bytes", "tokens"].map(str::to_owned).into(),
            _ => keys_known(&format!("{{{map}: {UNKNOWN}}}")),
        };
        assert_eq!(keys_of(&schema["$defs"][map]), keys, "{map}");
        for key in keys {
            // Each word is read, or the error is about something other than its name.
            let text = format!("{{{map}: {{{key}: {{}}}}}}");
            assert!(flaw(&text).starts_with(&format!("`{key}` must be ")), "{}", flaw(&text));
        }
    }
}

/// Compares the type that the reader expects for `key` with that in the schema. Returns whether it is one of a list of
/// words.
fn compare(key: &str, message: &str, known: &Json) -> bool {
    let words = message.strip_prefix(&format!("`{key}` must be ")).unwrap();
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
        let is_no_rule =
            Delivery::KEYS.contains(&key.as_str()) || inherit::KEYS.contains(&key.as_str());
        let is_other = ["select", "test", "redact", inherit::TIGHT].contains(&key.as_str());
        if is_other || is_no_rule {
            continue;
        }
        if MAPS.contains(&key.as_str()) {
            assert_eq!(known["$ref"], format!("#/$defs/{key}"));
            let inside = schema["$defs"][key]["properties"].as_object().unwrap();
            // `dedup` may also be a map.
            for (inner, known) in inside.iter().filter(|(inner, _)| *inner != "dedup") {
                compare(inner, &flaw(&format!("{{{key}: {{{inner}: {{}}}}}}")), known);
            }
        } else {
            enums += usize::from(compare(key, &flaw(&format!("{{{key}: {{}}}}")), known));
        }
    }
    assert!(enums >= 5, "words were compared");
}

/// `redact` is one word or a map.
#[test]
fn the_schema_has_both_forms_of_redact() {
    let schema = schema();
    let forms = &schema["$defs"]["spec"]["properties"]["redact"]["oneOf"];
    assert_eq!(forms[0]["const"], "secrets");
    assert!(
        flaw("{redact: everything}").contains("`secrets` or a map"),
        "{}",
        flaw("{redact: everything}")
    );
    assert_eq!(
        keys_of(&forms[1]),
        ["paths", "patterns", "personal", "secrets", "with"].map(str::to_owned).into()
    );
    for key in keys_of(&forms[1]) {
        let wrong = if key == "patterns" { "[]" } else { "{}" };
        let text = format!("{{redact: {{{key}: {wrong}}}}}");
        assert!(flaw(&text).starts_with(&format!("`{key}` must be ")), "{}", flaw(&text));
    }
    assert!(!flaw("{redact: {path: [a]}}").is_empty());
}

/// The keys that only a gateway reads: each word of the schema is read, and no other.
#[test]
fn the_schema_has_the_keys_that_gateways_read() {
    let schema = schema();
    let mut keys: BTreeSet<String> = WrittenSettings::KEYS.map(str::to_owned).into();
    keys.extend(["version", "filters"].map(str::to_owned));
    keys.extend(ServerSettings::KEYS.map(str::to_owned));
    assert_eq!(keys_of(&schema), keys);
    let mut of_servers: BTreeSet<String> = ServerSettings::KEYS.map(str::to_owned).into();
    of_servers.extend(["factor", "invisible", "profile"].map(str::to_owned));
    assert_eq!(keys_of(&schema["$defs"]["server"]), of_servers);
    let refused = |text: &str| Manifest::parse("x.yaml", text).err().map(|error| error.to_string());
    let top =
        |key: &str, word: &str| refused(&format!("version: 1\nfilters: {{}}\n{key}: {word}\n"));
    let inner =
        |key: &str, word: &str| refused(&format!("version: 1\nfilters:\n  a: {{{key}: {word}}}\n"));
    let words = |known: &Json| -> Vec<String> {
        known["enum"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect()
    };
    for (known, read) in
        [(&schema, &top as &dyn Fn(&str, &str) -> _), (&schema["$defs"]["spec"], &inner)]
    {
        for (key, known) in known["properties"].as_object().unwrap() {
            let is_gateways = WrittenSettings::KEYS.contains(&key.as_str())
                || Delivery::KEYS.contains(&key.as_str());
            if !is_gateways || known["enum"].is_null() {
                continue;
            }
            let words = words(known);
            for word in &words {
                assert_eq!(read(key, word), None, "{key}: {word}");
            }
            let message = read(key, "qqqqqqqq").unwrap();
            let listed = words.iter().map(String::as_str).collect::<Vec<_>>();
            assert!(message.contains(&super::node::or(&listed)), "{message}");
        }
    }
    assert_eq!(words(&schema["properties"]["service"]), Manifest::services().collect::<Vec<_>>());
    let store = keys_of(&schema["$defs"]["store"]);
    for key in &store {
        let message = top("store", &format!("{{{key}: []}}")).unwrap();
        assert!(message.contains(&format!("`{key}` must be ")), "{message}");
    }
    let message = top("store", "{qqqqqqqqqqqq: 1}").unwrap();
    for key in &store {
        assert!(message.contains(key.as_str()), "{message}");
    }
}

/// Returns a manifest of `count` tools with the same text filter, one on each line, beginning with the third line.
fn tools(count: usize, filter: &str) -> String {
    let tool = |number| format!("  t{number}: {{text_filter: {{{filter}}}}}\n");
    "version: 1\nfilters:\n".to_owned() + &(0..count).map(tool).collect::<String>()
}

/// The compiled size of patterns is charged to the file. The place where it becomes too much is reported once, and
/// nothing more is compiled.
#[test]
fn patterns_of_a_manifest_are_bounded_together() {
    for filter in [
        r#"strip_lines_matching: ["\\w{20}"]"#,
        r"keep_lines_matching: ['\d+', a, '(?i)b']",
        r"dedup: true, strip_lines_matching: ['\w', '[^a]{30}']",
    ] {
        let mut allowance = RegexBudget::new();
        let one = Manifest::parse_within("x.yaml", &tools(1, filter), &mut allowance);
        assert!(one.is_ok(), "{filter}");
        let charge = RegexBudget::BYTES - allowance.left();
        for fitting in [1, 2, 7] {
            let text = tools(fitting, filter);
            let mut exact = RegexBudget::of(fitting * charge);
            assert!(Manifest::parse_within("x.yaml", &text, &mut exact).is_ok(), "{filter}");
            assert_eq!((exact.left(), exact.is_spent()), (0, false), "{filter}");
            for (count, bytes) in [(fitting + 1, fitting * charge), (500, fitting * charge + 1)] {
                let mut allowance = RegexBudget::of(bytes);
                let text = tools(count, filter);
                let error = Manifest::parse_within("x.yaml", &text, &mut allowance).unwrap_err();
                let [problem] = error.problems() else { panic!("{error}") };
                assert_eq!((problem.line(), error.more()), (fitting + 3, 0), "{error}");
                // The first pattern of its list, after the quote.
                let line = text.lines().nth(problem.line() - 1).unwrap();
                assert_eq!(problem.column(), line.find('[').unwrap() + 3, "{error}");
                let message = problem.message();
                assert!(message.starts_with(&format!("t{fitting}: ")), "{error}");
                assert!(message.contains("with the patterns before it"), "{error}");
                assert!(allowance.is_spent() && allowance.left() == 0);
            }
        }
    }
}

/// The patterns of branches are charged to the file as well.
#[test]
fn a_template_that_many_tools_share_counts_for_each() {
    let template = "{{.a}}".repeat(10_000);
    let mut text =
        format!("version: 1\nfilters:\n  t:\n    compact: &c\n      item: \"{template}\"\n");
    for number in 0..50 {
        text.push_str(&format!("  t{number}:\n    compact: *c\n"));
    }
    let error = Manifest::parse("x.yaml", &text).unwrap_err().to_string();
    assert!(error.contains("with the templates before it, more than 64 MiB"), "{error}");
    assert_eq!(error.matches("with the templates").count(), 1, "{error}");
}

#[test]
fn patterns_of_branches_are_bounded_together() {
    let branch =
        r"{test: {path: /a, value: 1}, text_filter: {strip_lines_matching: ['(\w{90}|xN){2}']}}";
    for (count, fits) in [(1, true), (2, true), (3, false), (300, false)] {
        let branches = vec![branch; count].join(", ");
        let text = format!("version: 1\nfilters:\n  t: {{otherwise: pass, when: [{branches}]}}\n");
        let read = Manifest::parse("x.yaml", &text);
        assert_eq!(read.is_ok(), fits, "{count}");
        if let Err(error) = read {
            assert_eq!(error.problems().len(), 1, "{error}");
            assert!(error.to_string().contains("when[2]"), "{error}");
        }
    }
}

#[test]
fn chains_of_bases_are_followed_and_bounded() {
    const COUNT: usize = 3000;
    let parse = |first: &str, base: &dyn Fn(usize) -> usize| {
        let mut text = format!("version: 1\nfilters:\n  f0: {{{first}}}\n");
        for number in 1..COUNT {
            text.push_str(&format!("  f{number}: {{extends: f{}}}\n", base(number)));
        }
        Manifest::parse("x.yaml", &text)
    };
    let before = |number| number - 1;
    let after = |number| (number + 1) % COUNT;
    for base in [&before as &dyn Fn(usize) -> usize, &after] {
        let manifest = parse("select: [id]", base).unwrap();
        assert_eq!(manifest.names().len(), COUNT);
        let names: Vec<_> = manifest.names().take(2).collect();
        assert_eq!(names, ["f0", "f1"]);
        let own = Spec::new().select("id");
        assert!(manifest.entries().all(|entry| entry.spec() == &own));
    }
    let circle = parse("extends: f1", &after).unwrap_err();
    let problems = circle.problems();
    assert_eq!((problems.len(), problems[0].line()), (1, 3));
    assert!(problems[0].message().ends_with("f6 → f7 → … → f0"), "{circle}");
    let long: Vec<_> = (0..200).map(|number| format!("m{number}")).collect();
    let error = parse(&format!("select: [{}]", long.join(", ")), &before).unwrap_err();
    assert!(error.to_string().contains("take over more than 200000 keys and values"), "{error}");
    let unknown = parse("extends: f9999", &|_| 9998).unwrap_err();
    assert_eq!(unknown.problems().len() + unknown.more(), COUNT);
}

/// A rule whose feature is off is refused at its place. The tests of the workspace turn all features on.
#[test]
fn rules_of_a_feature() {
    let text = b"version: 1\nfilters: {page: {content: {max_tokens: 50}}}\n";
    if let Err(error) = Manifest::read("tools.yaml", &text[..]) {
        assert!(error.to_string().contains("the feature `content`"), "{error}");
        assert!(error.to_string().starts_with("tools.yaml:2:"), "{error}");
    }
}
