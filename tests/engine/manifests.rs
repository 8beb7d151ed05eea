//! Manifests that are hostile, broken or large: they are refused, or read in bounded time and memory.

use std::time::Duration;

use tamis::{CallOptions, Error, Filter, Program, Report, Spec, filter_slice};
use tamis_manifest::Manifest;
use tamis_testkit::clock::cpu_time;

type Run = Result<(Vec<u8>, Report), Error>;

fn by_bytes(program: &Program, options: &CallOptions, input: &str) -> Run {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    for byte in input.as_bytes() {
        filter.write(&[*byte])?;
    }
    let report = filter.end()?;
    Ok((filter.into_sink(), report))
}

/// Members that pass with a kimbap object may be long, and may precede all selected members.
#[test]
fn long_members_around_an_object_pass() {
    let text = "actions: {a: {response: {type: object, filter: {select: {id: id}}}}}";
    let program = Manifest::parse("s.yaml", text).unwrap().program("s.a").unwrap();
    let long = "x".repeat(200_000);
    let options = tamis_testkit::call_options();
    let input = format!("{{\"stderr\": \"{long}\", \"x\": 1, \"id\": 2, \"_pagination\": {{}}}}");
    let output = format!("{{\"stderr\":\"{long}\",\"id\":2,\"_pagination\":{{}}}}");
    let input_without = format!("{{\"stderr\":\"{long}\",\"x\":1}}");
    for run in [
        filter_slice(program.with_options(&options), input.as_bytes()).map_err(Error::from),
        by_bytes(&program, &options, &input),
    ] {
        let (filtered, report) = run.unwrap();
        assert!(filtered == output.as_bytes() && report.applied);
        assert_eq!(report.partial_miss, [""; 0]);
    }
    let (filtered, report) =
        filter_slice(program.with_options(&options), input_without.as_bytes()).unwrap();
    assert!(filtered == input_without.as_bytes() && !report.applied);
    assert_eq!(
        report.fallback.as_deref(),
        Some("no item has any of the selected paths (id): select does not apply")
    );
}

/// Reads a hostile text on a small stack. It must be refused in time, with an error that contains `words`.
#[track_caller]
fn refused(text: String, words: &[&str]) {
    // The thread is new, so its processor time is that of the call.
    let read = move || {
        let error = Manifest::parse("x.yaml", &text).map(|_| ()).unwrap_err().to_string();
        (error, cpu_time())
    };
    let (error, took) =
        std::thread::Builder::new().stack_size(1 << 20).spawn(read).unwrap().join().unwrap();
    for word in words {
        assert!(error.contains(word), "{word:?} is not in {error}");
    }
    assert!(error.len() < 40_000, "{} bytes", error.len());
    assert!(took < Duration::from_secs(60), "{took:?}");
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
    refused(format!("{}1{}", "[".repeat(24), "]".repeat(24)), &["a manifest must be a map"]);
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
    refused(
        format!("version: 1\nfilters: {{{}: 1}}", "x".repeat(500)),
        &["must be a map of rules"],
    );
    refused(format!("{}: 1\nversion: 1\nfilters: {{}}", "x".repeat(900)), &["unknown key"]);
    let wrong: String = (0..20_000).map(|tool| format!("  t{tool}: {{slect: [id]}}\n")).collect();
    refused(
        format!("version: 1\nfilters:\n{wrong}"),
        &["t0: ", "did you mean `select`?", "19980 more problems"],
    );
    // One long line, in which every place is far from the beginning.
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
    refused(twice, &["duplicate key", "19979 more problems"]);
}

/// Any file needs a small multiple of its size, in addition to memory that the limits bound.
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
    // The name of a file may be hostile as well.
    let error = Manifest::parse("a\n\u{1b}b.yaml", "x: 1").unwrap_err().to_string();
    assert!(error.starts_with("a\\n\\u{1b}b.yaml:1:1: "), "{error:?}");
}

#[test]
fn a_truncated_manifest_has_an_error_or_is_read() {
    let text = include_str!("../cases/manifests/sample.yaml");
    assert!(Manifest::parse("sample.yaml", text).is_ok());
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        if let Err(error) = Manifest::parse("sample.yaml", &text[..end]) {
            assert!(error.to_string().starts_with("sample.yaml:"), "{error}");
        }
    }
}

/// Any repetition gives a result in time: an error or a manifest.
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
            let begin = cpu_time();
            let text = format!("{before}{}", piece.repeat((256 << 10) / piece.len()));
            if let Err(error) = Manifest::parse("x.yaml", &text) {
                assert!(error.to_string().len() < 40_000, "{before:?} {piece:?}");
            }
            let took = cpu_time() - begin;
            assert!(took < Duration::from_secs(20), "{before:?} {piece:?}: {took:?}");
        }
    }
}

#[test]
fn many_filters_are_read_in_time() {
    let begin = cpu_time();
    let text: Vec<String> =
        (0..10_000).map(|tool| format!("\"t{tool}\": {{\"select\": [\"id\"]}}")).collect();
    let text = format!("{{\"version\": 1, \"filters\": {{{}}}}}", text.join(", "));
    let manifest = Manifest::parse("x.json", &text).unwrap();
    assert_eq!(manifest.names().len(), 10_000);
    assert!(manifest.program("t9999").is_ok() && manifest.program("t10000").is_err());
    let took = cpu_time() - begin;
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[test]
fn json_is_yaml() {
    let text = r#"{"version": 1, "filters": {"a": {"select": {"x": "b.c"}, "max_items": 3}}}"#;
    let manifest = Manifest::parse("x.json", text).unwrap();
    assert_eq!(*manifest.spec("a").unwrap(), Spec::new().select_as("x", "b.c").max_items(3));
}
