//! The files of `corpus/grammar`: tamis agrees with the verdicts of their README and of other parsers.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::value::RawValue;
use struson::reader::{JsonReader, JsonStreamReader, ReaderSettings};
use tamis::spec::Validation;
use tamis::{ErrorKind, Fault, Program, Spec};

use tamis_testkit::drivers::{Effort, Run, Subject, agree, agree_reader};
use tamis_testkit::prng::Prng;

/// The files on which struson differs from tamis, and the reasons.
const STRUSON_DIFFERS: [(&str, &str); 10] = [
    ("bom-at-start-then-white-space.json", MARK),
    ("bom-at-start.json", MARK),
    ("surrogate-alone-in-name.json", SURROGATE),
    ("surrogate-high-alone.json", SURROGATE),
    ("surrogate-high-then-letter.json", SURROGATE),
    ("surrogate-high-then-other-escape.json", SURROGATE),
    ("surrogate-high-then-short-escape.json", SURROGATE),
    ("surrogate-high-twice.json", SURROGATE),
    ("surrogate-low-alone.json", SURROGATE),
    ("surrogate-pair-reversed.json", SURROGATE),
];
const MARK: &str = "struson knows no byte order mark";
const SURROGATE: &str = "struson decodes strings, and a lone surrogate is no text";

fn corpus(name: &str) -> PathBuf {
    tamis_testkit::paths::path("corpus").join(name)
}

/// The files of a folder of `corpus/grammar`, by name.
fn folder(name: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(corpus("grammar").join(name)).expect("the folder can be read");
    let files = entries.map(|entry| {
        let path = entry.expect("the entry can be read").path();
        let name = path.file_name().expect("a name").to_str().expect("a UTF-8 name").to_owned();
        (name, std::fs::read(&path).expect("the file can be read"))
    });
    files.collect()
}

/// Every file of the grammar with its verdict.
fn verdicts() -> Vec<(String, Vec<u8>, bool)> {
    let either = verdicts_for_either();
    let mut all = Vec::new();
    for (name, bytes) in folder("valid") {
        all.push((name, bytes, true));
    }
    for (name, bytes) in folder("invalid") {
        all.push((name, bytes, false));
    }
    for (name, bytes) in folder("either") {
        let accepted = *either.get(&name).unwrap_or_else(|| panic!("no verdict for {name}"));
        all.push((name, bytes, accepted));
    }
    assert!(all.len() > 300, "the corpus is not there");
    all
}

/// The table of the README: file names, and whether tamis accepts them.
fn verdicts_for_either() -> BTreeMap<String, bool> {
    let readme = std::fs::read_to_string(corpus("grammar/README.md")).expect("the README");
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|');
        let name = cells.next()?.trim().strip_suffix('`')?.to_owned();
        let verdict = cells.next()?.trim().to_owned();
        name.ends_with(".json").then(|| {
            let accepted = verdict.starts_with("accepted");
            assert!(accepted || verdict.starts_with("refused"), "{name}: {verdict}");
            (name, accepted)
        })
    };
    readme.lines().filter_map(row).collect()
}

fn run(name: &str, spec: &Spec, document: &[u8]) -> Run {
    let program = Program::compile(spec).expect("the spec compiles");
    let options = tamis_testkit::call_options();
    let subject = Subject { program: &program, options: &options, document };
    let seed = Prng::named(name).next_u64();
    // One-byte chunks of the longest files are slow, so they run once.
    let effort = if document.len() < 1 << 10 { Effort::Full } else { Effort::Splits(5) };
    let run = agree(subject, seed, effort).unwrap_or_else(|why| panic!("{name}: {why}"));
    agree_reader(subject, seed, &run).unwrap_or_else(|why| panic!("{name}: {why}"));
    run
}

#[test]
fn verdicts_without_rules() {
    for (name, bytes, accepted) in verdicts() {
        let run = run(&name, &Spec::new(), &bytes);
        assert_eq!(run.fault.is_none(), accepted, "{name}: {:?}", run.fault);
        let output = run.output.expect("push gives its output");
        if accepted {
            let parsed = serde_json::from_slice::<&RawValue>(&output);
            assert!(parsed.is_ok(), "{name}: {parsed:?}");
        } else if let Some(fault) = run.fault {
            assert!(fault.offset.is_some(), "{name}: the error has no place");
            let wanted = [
                ErrorKind::Syntax,
                ErrorKind::UnexpectedEnd,
                ErrorKind::Encoding,
                ErrorKind::Limit,
            ];
            assert!(wanted.contains(&fault.kind), "{name}: {fault:?}");
        }
    }
}

/// Skipped values are validated as strictly as others.
#[test]
fn verdicts_under_rules() {
    let specs = [
        Spec::new().retain("/nowhere"),
        Spec::new().select("a").select("b.c"),
        Spec::new().exclude("a").drop_nulls(true).drop_empty(true).root("object"),
        Spec::new().max_items(1),
    ];
    for (name, bytes, accepted) in verdicts() {
        for spec in &specs {
            let full = run(&name, spec, &bytes);
            assert_eq!(full.fault.is_none(), accepted, "{name}, {spec:?}: {:?}", full.fault);
            let structure = run(&name, &spec.clone().validation(Validation::Structure), &bytes);
            if accepted {
                assert_eq!(structure.fault, None, "{name}, {spec:?}, structure");
                assert_eq!(structure.output, full.output, "{name}, {spec:?}, structure");
            }
        }
    }
}

/// `validation: structure` still rejects skipped values with open strings, brackets that do not match, control characters or
/// invalid UTF-8. In a value that is kept, each of these is an error as well.
#[test]
fn structure_still_checks() {
    let skipped: [&[u8]; 9] = [
        b"\"open",
        b"[1, 2}",
        b"{\"a\": 1]",
        b"[",
        b"\"\x01\"",
        b"\"\n\"",
        b"\"\xff\"",
        b"\"\xc3\"",
        b"\"\xed\xa0\x80\"",
    ];
    let spec = Spec::new().retain("/kept").validation(Validation::Structure);
    for value in skipped {
        let document = [b"{\"gone\": ", value, b", \"kept\": 1}"].concat();
        let name = String::from_utf8_lossy(value);
        let fault = run(&name, &spec, &document).fault;
        assert!(fault.is_some(), "{name} was skipped");
    }
    for value in ["01", "tru", "1.", "\"\\x\"", "[1 2]", "{\"a\" 1}", "[,]", "+1"] {
        let document = format!("{{\"gone\": 1, \"kept\": {value}}}");
        let fault = run(value, &spec, document.as_bytes()).fault;
        assert!(fault.is_some(), "{value} was kept");
    }
}

#[test]
fn serde_json_agrees() {
    for (name, bytes, accepted) in verdicts() {
        // struson has no depth limit for text that it skips, and does not accept a byte order mark.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let theirs = serde_json::from_slice::<&RawValue>(text).is_ok();
        let deep = run(&name, &Spec::new(), &bytes)
            .fault
            .is_some_and(|fault| fault.kind == ErrorKind::Limit);
        let differs = deep || (text.len() < bytes.len() && !accepted);
        assert!(theirs == accepted || differs, "{name}: serde_json accepts: {theirs}");
    }
}

#[test]
fn struson_agrees() {
    let mut differs = Vec::new();
    for (name, bytes, accepted) in verdicts() {
        if struson_accepts(&bytes) != accepted {
            differs.push(name);
        }
    }
    differs.sort_unstable();
    let known: Vec<_> = STRUSON_DIFFERS.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(differs, known);
}

fn struson_accepts(bytes: &[u8]) -> bool {
    let settings = ReaderSettings {
        restrict_number_values: false,
        max_nesting_depth: Some(1024),
        ..ReaderSettings::default()
    };
    let mut reader = JsonStreamReader::new_custom(bytes, settings);
    reader.skip_value().is_ok() && reader.consume_trailing_whitespace().is_ok()
}

/// Two parsers read the same value from the output as from the input. Inputs that a parser cannot read are left out.
#[test]
fn values_survive() {
    let mut documents: Vec<_> = folder("valid").into_iter().collect();
    for name in [
        "github-list-repos.json",
        "github-list-repos.pretty.json",
        "graphql-depth8.json",
        "wrapped-pages.json",
    ] {
        documents.push((name.to_owned(), std::fs::read(corpus(name)).expect("the file")));
    }
    let (mut serde, mut simd) = (0, 0);
    for (name, bytes) in &documents {
        let run = run(name, &Spec::new(), bytes);
        let output = run.output.expect("push gives its output");
        if let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) {
            assert_eq!(
                serde_json::from_slice::<serde_json::Value>(&output).ok(),
                Some(value),
                "{name}"
            );
            serde += 1;
        }
        if let Ok(value) = simd_json::to_owned_value(&mut bytes.clone()) {
            assert_eq!(simd_json::to_owned_value(&mut output.clone()).ok(), Some(value), "{name}");
            simd += 1;
        }
    }
    let most = documents.len() * 9 / 10;
    assert!(serde > most && simd > most, "{serde} and {simd} of {} were compared", documents.len());
}

/// The compact files are minified already, and the pretty one is the same document.
#[test]
fn minified_documents() {
    let minified = |name: &str| {
        let bytes = std::fs::read(corpus(name)).expect("the file");
        let output = run(name, &Spec::new(), &bytes).output.expect("push gives its output");
        (bytes, output)
    };
    for name in ["github-list-repos.json", "graphql-depth8.json", "wrapped-pages.json"] {
        let (bytes, output) = minified(name);
        assert!(bytes == [&output[..], b"\n"].concat(), "{name} is not what it was");
    }
    let pretty = minified("github-list-repos.pretty.json").1;
    assert!(pretty == minified("github-list-repos.json").1, "two spellings of one document");
}

/// A deep document exceeds the limit on depth, wherever it is deep and whether or not the deep value is kept.
#[test]
fn depth_is_limited_everywhere() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(2000), "]".repeat(2000));
    for spec in [
        Spec::new(),
        Spec::new().retain("/nowhere"),
        Spec::new().select("b").root("object"),
        Spec::new().exclude("a"),
        Spec::new().retain("/nowhere").validation(Validation::Structure),
    ] {
        let fault = run("deep", &spec, deep.as_bytes()).fault.expect("too deep");
        assert_eq!(fault.kind, ErrorKind::Limit, "{spec:?}");
        let error = Program::compile(&spec)
            .and_then(|program| Ok(tamis::filter_slice(&program, deep.as_bytes())?))
            .expect_err("too deep");
        assert_eq!(error.fault(), Fault::Limit);
    }
}
