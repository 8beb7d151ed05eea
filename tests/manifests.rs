//! Manifests as data: `tests/manifests/*.toml`. A case says a manifest and what it must say of itself: the error, whole; or
//! its tools, their specs and what they make of a document. `main` below has the fields. Hostile texts are made here.

#![cfg(feature = "manifest")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "in a test a panic is the report")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tamis::{
    CallOptions, Error, Filter, Manifest, ManifestErrorKind, Program, Report, ReservedParameters,
    SkipReason, Spec, filter_slice,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// The name of the file; default `tools.yaml`.
    file: Option<String>,
    manifest: String,
    /// Manifests that are merged with it, by the names of their files.
    #[serde(default)]
    with: BTreeMap<String, String>,
    /// What it says, whole, when it is read or merged.
    error: Option<String>,
    /// The names, in their order.
    names: Option<Vec<String>>,
    /// What it warns of, whole.
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    tool: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: String,
    /// The error of the look-up, whole.
    error: Option<String>,
    spec: Option<Spec>,
    /// The same for formats whose specs say more than can be written: what of it is written.
    declares: Option<Spec>,
    summary: Option<String>,
    /// The names of its reserved parameters.
    reserved: Option<Vec<String>>,
    #[serde(default)]
    raw: bool,
    #[serde(default)]
    is_error: bool,
    input: Option<String>,
    output: Option<String>,
    /// The run's error.
    fails: Option<String>,
    skipped: Option<String>,
    /// What the report says of the payload's place.
    root: Option<String>,
    /// It is a total miss.
    #[serde(default)]
    missed: bool,
}

fn read(case: &Case) -> Result<Manifest, tamis::ManifestError> {
    let file = case.file.as_deref().unwrap_or("tools.yaml");
    let mut all = vec![Manifest::parse(file, &case.manifest)?];
    for (file, text) in &case.with {
        all.push(Manifest::parse(file, text)?);
    }
    Manifest::merge(all)
}

fn run(case: &Case) {
    let manifest = match (read(case), &case.error) {
        (Err(error), Some(expected)) => {
            assert_eq!(error.to_string(), expected.trim_end(), "{}", case.name);
            assert_eq!(error.kind(), ManifestErrorKind::Invalid, "{}", case.name);
            return;
        }
        (Err(error), None) => panic!("{}:\n{error}", case.name),
        (Ok(_), Some(expected)) => panic!("{}: not refused: {expected}", case.name),
        (Ok(manifest), None) => manifest,
    };
    assert!(case.names.is_some() || !case.tool.is_empty(), "{} tests nothing", case.name);
    if let Some(names) = &case.names {
        assert!(manifest.names().eq(names.iter()), "{}", case.name);
    }
    let warnings = manifest.entries().flat_map(|entry| entry.warnings()).map(ToString::to_string);
    let expected: Vec<_> = case.warnings.iter().map(|text| text.trim_end().to_owned()).collect();
    assert_eq!(warnings.collect::<Vec<_>>(), expected, "{}", case.name);
    for tool in &case.tool {
        let at = format!("{}: {}", case.name, tool.name);
        let program = match (manifest.program(&tool.name), &tool.error) {
            (Err(error), Some(expected)) => {
                assert_eq!(error.to_string(), expected.trim_end(), "{at}");
                continue;
            }
            (Err(error), None) => panic!("{at}:\n{error}"),
            (Ok(_), Some(expected)) => panic!("{at}: not refused: {expected}"),
            (Ok(program), None) => program,
        };
        assert_eq!(program.spec(), manifest.spec(&tool.name).unwrap(), "{at}");
        if let Some(spec) = &tool.spec {
            assert_eq!(program.spec(), spec, "{at}");
        }
        if let Some(spec) = &tool.declares {
            let written = |spec: &Spec| serde_json::to_value(spec).unwrap();
            assert_eq!(written(program.spec()), written(spec), "{at}");
        }
        if let Some(summary) = &tool.summary {
            assert_eq!(program.spec().summary(), *summary, "{at}");
        }
        if let Some(names) = &tool.reserved {
            let reserved = manifest.reserved_parameters(&tool.name).unwrap();
            let found = reserved.iter().flat_map(ReservedParameters::iter);
            assert!(found.map(|parameter| parameter.name()).eq(names.iter()), "{at}");
            assert_eq!(reserved, program.spec().reserved_parameters(), "{at}");
        }
        let Some(input) = &tool.input else { continue };
        let options = CallOptions::new().raw(tool.raw).is_error(tool.is_error);
        let whole =
            filter_slice(program.with_options(&options), input.as_bytes()).map_err(Error::from);
        assert_eq!(shown(&whole), shown(&by_bytes(&program, &options, input)), "{at}");
        match whole {
            Ok((output, report)) => {
                assert_eq!(
                    String::from_utf8(output).unwrap(),
                    *tool.output.as_ref().unwrap(),
                    "{at}"
                );
                let skipped = report.filter_skipped.map(SkipReason::as_str);
                assert_eq!(skipped, tool.skipped.as_deref(), "{at}");
                if tool.root.is_some() {
                    assert_eq!(report.root, tool.root, "{at}");
                    assert_eq!(report.filter_error.is_some(), tool.missed, "{at}");
                }
            }
            Err(error) => assert_eq!(Some(error.to_string()), tool.fails, "{at}"),
        }
    }
}

type Run = Result<(Vec<u8>, Report), Error>;

/// What must not depend on chunks.
fn shown(run: &Run) -> String {
    match run {
        Ok((output, report)) => {
            let output = String::from_utf8_lossy(output);
            let Report { filter_skipped, filter_partial_miss, filter_error, root, .. } = report;
            format!("{output} {filter_skipped:?} {filter_partial_miss:?} {filter_error:?} {root:?}")
        }
        Err(error) => error.to_string(),
    }
}

fn by_bytes(program: &Program, options: &CallOptions, input: &str) -> Run {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    for byte in input.as_bytes() {
        filter.write(&[*byte])?;
    }
    let report = filter.end()?;
    Ok((filter.into_sink(), report))
}

macro_rules! files {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let file: File = toml::from_str(include_str!(concat!("manifests/", stringify!($name), ".toml"))).unwrap();
                file.case.iter().for_each(run);
            }
        )*

        #[test]
        fn every_file_has_its_test() {
            let mut names = vec![$(concat!(stringify!($name), ".toml")),*];
            names.sort_unstable();
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/manifests");
            let entries = std::fs::read_dir(folder).unwrap();
            let found = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut found: Vec<_> = found.filter(|name| name.ends_with(".toml")).collect();
            found.sort_unstable();
            assert_eq!(found, names);
        }
    };
}

files! {
    aios
    kimbap
    lookup
    native
    reshapr
    yaml
}

/// What passes with a kimbap object may be long, and come before anything that is selected.
#[test]
fn long_members_around_an_object_pass() {
    let text = "actions: {a: {response: {type: object, filter: {select: {id: id}}}}}";
    let program = Manifest::parse("s.yaml", text).unwrap().program("s.a").unwrap();
    let long = "x".repeat(200_000);
    let options = CallOptions::new();
    let input = format!("{{\"stderr\": \"{long}\", \"x\": 1, \"id\": 2, \"_pagination\": {{}}}}");
    let output = format!("{{\"stderr\":\"{long}\",\"id\":2,\"_pagination\":{{}}}}");
    let input_without = format!("{{\"stderr\":\"{long}\",\"x\":1}}");
    for run in [
        filter_slice(program.with_options(&options), input.as_bytes()).map_err(Error::from),
        by_bytes(&program, &options, &input),
    ] {
        let (filtered, report) = run.unwrap();
        assert!(filtered == output.as_bytes() && report.filter_applied);
        assert_eq!(report.filter_partial_miss, [""; 0]);
    }
    let (filtered, report) =
        filter_slice(program.with_options(&options), input_without.as_bytes()).unwrap();
    assert!(filtered == input_without.as_bytes() && !report.filter_applied);
    assert_eq!(
        report.filter_error.as_deref(),
        Some("no item has any of the selected paths (id): select does not apply")
    );
}

/// Reads a hostile text on a small stack; it must be refused, in time, with these words.
#[track_caller]
fn refused(text: String, words: &[&str]) {
    let begin = Instant::now();
    let read = move || Manifest::parse("x.yaml", &text).map(|_| ()).unwrap_err().to_string();
    let error =
        std::thread::Builder::new().stack_size(1 << 20).spawn(read).unwrap().join().unwrap();
    for word in words {
        assert!(error.contains(word), "{word:?} is not in {error}");
    }
    assert!(error.len() < 40_000, "{} bytes", error.len());
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn deep_nesting_is_refused() {
    refused("[".repeat(100_000), &["x.yaml:1:", "inside more than 24 others"]);
    refused("{a: ".repeat(100_000), &["x.yaml:1:", "inside more than 24 others"]);
    refused("- ".repeat(100_000), &["x.yaml:1:", "inside more than 24 others"]);
    refused("? ".repeat(100_000), &["x.yaml:1:"]);
    let stairs: String = (0..2000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    refused(stairs, &["x.yaml:25:", "inside more than 24 others"]);
    refused(format!("{}1{}", "[".repeat(25), "]".repeat(25)), &["inside more than 24 others"]);
    refused(format!("{}1{}", "[".repeat(24), "]".repeat(24)), &["a manifest is a map"]);
}

#[test]
fn aliases_do_not_explode() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    refused(bomb, &["x.yaml:", "aliases"]);

    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..5000 {
        chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    refused(chain, &["x.yaml:"]);
    let mut chain = format!("a0: &a0 {}x{}\n", "[".repeat(20), "]".repeat(20));
    chain.push_str(&format!("a1: &a1 {}*a0{}\n", "[".repeat(20), "]".repeat(20)));
    refused(chain, &["x.yaml:2:", "inside more than 24 others"]);

    refused("a: &a [*a]\n".to_owned(), &["x.yaml:1:"]);
    refused("a: *nowhere\n".to_owned(), &["x.yaml:1:"]);
    let many: String = (0..200_000).map(|_| "- *a\n").collect();
    refused(format!("x: &a 1\ny:\n{many}"), &["x.yaml:", "aliases"]);
}

#[test]
fn size_is_limited() {
    refused(" ".repeat((16 << 20) + 1), &["x.yaml: ", "16777216", "split it"]);
    refused(format!("a: {}\n", "x".repeat(16 << 20)), &["16777216", "split it"]);
    refused("- a\n".repeat(1_000_000), &["x.yaml:", "200000"]);
    // A long line is clipped.
    refused(format!("version: 1\nfilters: {{{}: 1}}", "x".repeat(500)), &["wants a map of rules"]);
    refused(format!("{}: 1\nversion: 1\nfilters: {{}}", "x".repeat(900)), &["unknown key"]);
    let wrong: String = (0..20_000).map(|tool| format!("  t{tool}: {{slect: [id]}}\n")).collect();
    refused(
        format!("version: 1\nfilters:\n{wrong}"),
        &["t0: ", "did you mean `select`?", "19980 more problems"],
    );
    // One line, in which every place is far from its beginning.
    let one_line: Vec<String> =
        (0..40_000).map(|tool| format!("\"t{tool}\": {{\"é\": 1}}")).collect();
    let one_line = format!("{{\"version\": 1, \"filters\": {{{}}}}}", one_line.join(", "));
    refused(one_line, &["x.yaml:1:35: t0: unknown key `é`", "39980 more problems"]);
    let merges: String =
        (1..20_000).map(|tool| format!("  t{tool}: &t{tool} {{<<: *t{}}}\n", tool - 1)).collect();
    refused(format!("version: 1\nfilters:\n  t0: &t0 {{x: 1}}\n{merges}"), &["x.yaml:"]);
    let patterns: String = (0..1001).map(|tool| format!("  \"*{tool}\": {{}}\n")).collect();
    refused(
        format!("version: 1\nfilters:\n{patterns}"),
        &["x.yaml:1003:3: more than 1000 names are patterns"],
    );
    let filters: String =
        (0..10_001).map(|tool| format!("  t{tool}: {{select: [id]}}\n")).collect();
    let message = "x.yaml:10003:3: more than 10000 filters; split them into several files";
    refused(format!("version: 1\nfilters:\n{filters}"), &[message]);
    let twice: String = (0..20_000).map(|_| "a: 1\n").collect();
    refused(twice, &["comes twice", "19979 more problems"]);
}

/// Whatever a file says, it takes a small multiple of its bytes, beside what the limits allow for all of it.
#[test]
fn memory_is_proportional_to_the_file() {
    let many = |count: usize, filter: &dyn Fn(usize) -> String| -> String {
        (0..count).fold("version: 1\nfilters:\n".to_owned(), |text, number| text + &filter(number))
    };
    let deep = vec!["a"; 1000].join(".");
    let pointer = format!("/{}", vec!["a"; 1000].join("/"));
    let files = [
        ("many filters", many(10_000, &|n| format!("  t{n}: {{select: [id]}}\n"))),
        ("too many", many(40_000, &|n| format!("  t{n}: {{select: [id], exclude: [b]}}\n"))),
        ("too many patterns", many(40_000, &|n| format!("  \"*{n}\": {{select: [id]}}\n"))),
        ("keys", many(10, &|n| format!("  t{n}: {{exclude: [{}]}}\n", "a, ".repeat(15_000)))),
        (
            "long paths",
            many(500, &|n| format!("  t{n}: {{select: [{deep}], exclude: [{deep}]}}\n")),
        ),
        ("long pointers", many(500, &|n| format!("  t{n}: {{retain: [{pointer}]}}\n"))),
    ];
    for (name, file) in files {
        let measured = allocation_counter::measure(|| {
            _ = Manifest::parse("x.yaml", &file);
        });
        let most = (100 << 20).min((48 << 20) + 150 * file.len() as u64);
        assert!(
            measured.bytes_max < most,
            "{name}: {} bytes of {}",
            measured.bytes_max,
            file.len()
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let error = Manifest::parse_bytes("x.yaml", b"version: 1\nfilters: {\xff: {}}\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.yaml: the manifest is not UTF-8: byte 21 in line 2; save it as UTF-8"
    );
    for text in [
        "\0",
        "\u{1b}[31m: 1",
        "a: \u{7}",
        "\u{85}",
        "%",
        "---\n---\n",
        "\t",
        "a:\tb\n\tc: d\n",
        "\u{202e}: 1",
    ] {
        let error = Manifest::parse("x.yaml", text).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("x.yaml:"), "{error:?}");
        assert!(error.chars().all(|char| char == '\n' || !char.is_control()), "{error:?}");
        assert!(!error.contains('\u{202e}'), "{error:?}");
    }
    // A name of a file is not ours either.
    let error = Manifest::parse("a\n\u{1b}b.yaml", "x: 1").unwrap_err().to_string();
    assert!(error.starts_with("a\\n\\u{1b}b.yaml:1:1: "), "{error:?}");
}

#[test]
fn what_is_cut_off_anywhere_is_answered() {
    let text = include_str!("manifests/sample.yaml");
    assert!(Manifest::parse("sample.yaml", text).is_ok());
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        if let Err(error) = Manifest::parse("sample.yaml", &text[..end]) {
            assert!(error.to_string().starts_with("sample.yaml:"), "{error}");
        }
    }
}

/// Whatever is repeated, the answer comes in time: an error, or a manifest.
#[test]
fn repetition_takes_no_time() {
    let pieces = [
        "\n",
        "\r",
        " ",
        "#",
        "# c\n",
        "&a ",
        "*a ",
        "\"",
        "'",
        "- ",
        "? ",
        ": ",
        "a: ",
        "a: b\n",
        "- - -\n",
        "---\n",
        "...\n",
        "|\n",
        ">\n ",
        "!a ",
        "!!str ",
        "%YAML 1.2\n",
        "%TAG ! x\n",
        "\\u0061",
        "{",
        "}",
        "{}",
        "[",
        "]",
        "[],",
        ",",
        "a,",
        "[a,",
        "{a,",
        "\t",
        "\u{feff}",
        "é",
        "\u{2028}",
        "a",
        "1",
        "~\n",
        "<<: ",
        "a\n",
        " a\n",
        "a: |\n",
        "a: \"\n",
        "&a a: *a\n",
        "@",
        "`",
    ];
    let before = [
        "",
        "[",
        "{",
        "\"",
        "'",
        "a: ",
        "- ",
        "a: |\n ",
        "version: 1\nfilters: {a: {exclude: [\"",
        "version: 1\nfilters:\n  a: ",
    ];
    for before in before {
        for piece in pieces {
            let begin = Instant::now();
            let text = format!("{before}{}", piece.repeat((256 << 10) / piece.len()));
            if let Err(error) = Manifest::parse("x.yaml", &text) {
                assert!(error.to_string().len() < 40_000, "{before:?} {piece:?}");
            }
            let took = begin.elapsed();
            assert!(took < Duration::from_secs(20), "{before:?} {piece:?}: {took:?}");
        }
    }
}

#[test]
fn many_filters_are_read_in_time() {
    let begin = Instant::now();
    let text: Vec<String> =
        (0..10_000).map(|tool| format!("\"t{tool}\": {{\"select\": [\"id\"]}}")).collect();
    let text = format!("{{\"version\": 1, \"filters\": {{{}}}}}", text.join(", "));
    let manifest = Manifest::parse("x.json", &text).unwrap();
    assert_eq!(manifest.names().len(), 10_000);
    assert!(manifest.program("t9999").is_ok() && manifest.program("t10000").is_err());
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn json_is_yaml() {
    let text = r#"{"version": 1, "filters": {"a": {"select": {"x": "b.c"}, "max_items": 3}}}"#;
    let manifest = Manifest::parse("x.json", text).unwrap();
    assert_eq!(*manifest.spec("a").unwrap(), Spec::new().select_as("x", "b.c").max_items(3));
}
