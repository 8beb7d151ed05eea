//! Hostile histories: endless, deep or cut off, or under limits that are too low.

use std::fmt::Write as _;

use tamis::{Error, ErrorKind, Limits};
use tamis_chat::{PruneFilter, PruneProgram, PruneRefusal, PruneSpec, prune_slice};

use tamis_testkit::clock::cpu_time;
use tamis_testkit::history::drivers::{NOW, check, chunks, slice};

fn program(prune: &PruneSpec) -> PruneProgram {
    PruneProgram::compile(&prune.clone().now(NOW)).unwrap()
}

/// The history passes unchanged or is an error, and all drivers agree.
fn unharmed(name: &str, history: &str) {
    let run = check(name, &PruneSpec::new(), history.as_bytes());
    if let Ok(output) = run.output {
        assert_eq!(String::from_utf8(output).unwrap(), history, "{name}");
    }
}

#[test]
fn every_truncation_is_an_error() {
    let history = r#"{"messages":[{"role":"tool","content":"a\u00e9","metadata":{"time":{}}},{"role":"user"},{"role":"user"}]}"#;
    let program = program(&PruneSpec::new());
    for end in 0..history.len() {
        let run = slice(&program, &history.as_bytes()[..end]);
        let (kind, offset, ..) = run.output.unwrap_err();
        assert_eq!((kind, offset), (ErrorKind::UnexpectedEnd, Some(end as u64)));
        let halves = chunks(&program, history.as_bytes()[..end].chunks(7));
        let (kind, offset, ..) = halves.output.unwrap_err();
        assert_eq!((kind, offset), (ErrorKind::UnexpectedEnd, Some(end as u64)));
        assert_eq!(halves.report.unwrap()["error"]["offset"], end);
    }
    assert!(slice(&program, history.as_bytes()).output.is_ok());
}

#[test]
fn invalid_json_is_an_error_at_its_place() {
    for (history, offset) in [
        ("[{\"role\":\"tool\",\"content\":\"a\\x\"}]", 29),
        ("[{\"role\":\"user\"},]", 17),
        ("[] []", 3),
        ("\u{feff}", 3),
        ("\u{feff}x", 3),
        ("[{\"content\":\"\u{1}\"}]", 13),
        ("[{\"content\":tru}]", 15),
    ] {
        let run = check(history, &PruneSpec::new(), history.as_bytes());
        assert_eq!(run.output.unwrap_err().1, Some(offset), "{history}");
    }
    check("no UTF-8", &PruneSpec::new(), b"[{\"content\":\"\xff\"}]").output.unwrap_err();
    let marked = "\u{feff}[{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"a\"},{\"role\":\"user\"}]\n";
    let pruned =
        check("a byte order mark stays", &PruneSpec::new().keep_turns(1), marked.as_bytes());
    let expected = marked.replace("\"a\"", "\"<tool-output-compacted />\"");
    assert_eq!(String::from_utf8(pruned.output.unwrap()).unwrap(), expected);
}

#[test]
fn nesting_is_bounded_and_harmless() {
    unharmed("open", &"[".repeat(2000));
    unharmed("deep", &format!("{}{}", "[".repeat(1024), "]".repeat(1024)));
    unharmed("too deep", &format!("{}{}", "[".repeat(1025), "]".repeat(1025)));
    let inside = format!("{}{}", "{\"content\":[".repeat(400), "]}".repeat(400));
    unharmed("messages in messages", &format!("[{inside}]"));
    let content = format!("{}1{}", "[".repeat(900), "]".repeat(900));
    let history = format!(
        r#"[{{"role":"tool","tool_call_id":"c","content":{{"x":{content}}}}},{{"role":"user"}}]"#
    );
    let run = check("deep content", &PruneSpec::new().keep_turns(1), history.as_bytes());
    let pruned = r#"[{"role":"tool","tool_call_id":"c","content":"<tool-output-compacted />"},{"role":"user"}]"#;
    assert_eq!(String::from_utf8(run.output.unwrap()).unwrap(), pruned);
}

#[test]
fn ids_of_any_length_name_their_calls() {
    let long = "é".repeat(200_000);
    for (asked, answered, stays) in [
        (long.clone(), long.clone(), true),
        (long.clone(), format!("{long}x"), false),
        (long.clone(), long.replace('é', "\\u00e9"), true),
        (String::new(), String::new(), true),
    ] {
        let history = format!(
            r#"[{{"tool_calls":[{{"id":"{asked}","function":{{"name":"skill"}}}}]}},{{"role":"tool","tool_call_id":"{answered}","content":"abc"}},{{"role":"user"}}]"#
        );
        for placeholder in ["gone", "gone: {id}"] {
            let program = program(&PruneSpec::new().keep_turns(1).placeholder(placeholder));
            let output = slice(&program, history.as_bytes()).output.unwrap();
            let output = String::from_utf8(output).unwrap();
            assert_eq!(output.contains(r#""content":"abc""#), stays);
            assert!(output.len() < history.len() + 1000);
        }
    }
    // A name that is longer than any pattern is not used as the name of a tool.
    let name = "s".repeat(600);
    let history = format!(
        r#"[{{"role":"tool","metadata":{{"toolName":"{name}"}},"content":"abc"}},{{"role":"user"}}]"#
    );
    let run =
        check("a long name", &PruneSpec::new().keep_turns(1).protect("s*"), history.as_bytes());
    assert!(run.report.unwrap()["tools"].get("").is_some());
}

#[test]
fn a_million_messages_take_no_memory_and_no_time() {
    let mut history = String::from("[");
    for number in 0..250_000 {
        write!(
            history,
            r#"{{"role":"user","content":"q"}},{{"role":"assistant","tool_calls":[{{"id":"call_{number}","function":{{"name":"read"}}}}]}},{{"role":"tool","tool_call_id":"call_{number}","content":"some lines of text"}},{{"role":"tool","tool_call_id":"nobody_{number}","content":"b"}},"#
        )
        .unwrap();
    }
    history += r#"{"role":"user","content":"last"}]"#;
    let program = program(&PruneSpec::new().protect_tokens(100));
    let begin = cpu_time();
    let mut kept = 0;
    let measured = allocation_counter::measure(|| {
        let mut run = PruneFilter::new(&program, Count(&mut kept));
        for chunk in history.as_bytes().chunks(64 << 10) {
            run.write(chunk).unwrap();
        }
        let report = run.end().unwrap();
        assert_eq!(
            (report.messages, report.user_turns, report.results),
            (1_000_001, 250_001, 500_000)
        );
        assert!(report.results_pruned > 499_900 && report.results_pruned < 499_998);
    });
    // Four MiB of the history, four of the log; the rest is in files.
    assert!(measured.bytes_max < 12 << 20, "{} bytes", measured.bytes_max);
    assert!((cpu_time() - begin).as_secs() < 60);
    assert!(kept > history.len() as u64);
    let (output, _) = prune_slice(&program, history.as_bytes()).unwrap();
    assert_eq!(output.len() as u64, kept);
    let (again, report) = prune_slice(&program, &output).unwrap();
    assert!(again == output && report.results_pruned == 0);
}

#[test]
fn calls_that_were_answered_take_no_memory() {
    type Pair = fn(usize) -> String;
    let shapes: [(&str, Pair); 4] = [
        ("chat", |id| {
            format!(
                r#"{{"tool_calls":[{{"id":"call_{id}","function":{{"name":"t"}}}}]}},{{"role":"tool","tool_call_id":"call_{id}","content":"a"}},"#
            )
        }),
        ("responses", |id| {
            format!(
                r#"{{"type":"function_call","call_id":"call_{id}","name":"t"}},{{"type":"function_call_output","call_id":"call_{id}","output":"a"}},"#
            )
        }),
        ("anthropic", |id| {
            format!(
                r#"{{"content":[{{"type":"tool_use","id":"call_{id}","name":"t"}}]}},{{"content":[{{"type":"tool_result","tool_use_id":"call_{id}","content":"a"}}]}},"#
            )
        }),
        ("gemini", |id| {
            format!(
                r#"{{"parts":[{{"functionCall":{{"id":"call_{id}","name":"t"}}}}]}},{{"parts":[{{"functionResponse":{{"id":"call_{id}","name":"t","response":{{"a":1}}}}}}]}},"#
            )
        }),
    ];
    let program =
        program(&PruneSpec::new().keep_turns(0)).with_limits(Limits::new().with_held(500));
    for (name, shape) in shapes {
        let pairs: String = (0..1000).map(shape).collect();
        let history = format!("[{pairs}0]");
        let (_, report) = prune_slice(&program, history.as_bytes())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((report.results_pruned, report.tools["t"].results), (1000, 1000), "{name}");
    }
}

struct Count<'a>(&'a mut u64);

impl tamis::Sink for Count<'_> {
    fn write(&mut self, bytes: &[u8]) {
        *self.0 += bytes.len() as u64;
    }
}

#[test]
fn endless_members_reach_a_limit_and_no_memory() {
    let many = |text: &str| text.repeat(300_000);
    let ends = r#""role":"tool"},{"role":"user"},{"role":"user"}]"#;
    for (name, history) in [
        ("outputs", format!("[{{{}{ends}", many(r#""content":"","#))),
        (
            "calls",
            format!(
                r#"[{{"tool_calls":[{}{{}}]}}]"#,
                (0..300_000).fold(String::new(), |mut text, number| {
                    write!(text, r#"{{"id":"{number}","function":{{"name":"t"}}}},"#).unwrap();
                    text
                })
            ),
        ),
        (
            "names",
            format!(
                "[{}1]",
                (0..300_000).fold(String::new(), |mut text, number| {
                    write!(
                        text,
                        r#"{{"role":"tool","content":"a","metadata":{{"toolName":"{number}"}}}},"#
                    )
                    .unwrap();
                    text
                })
            ),
        ),
    ] {
        let program = program(&PruneSpec::new());
        let mut failed = None;
        let measured = allocation_counter::measure(|| {
            failed = prune_slice(&program, history.as_bytes()).map_err(Error::from).err();
        });
        let error = failed.unwrap_or_else(|| panic!("{name} have a limit"));
        assert_eq!(error.kind(), ErrorKind::Limit, "{name}");
        assert!(error.offset().is_some() && error.limit() == Some("held"), "{name}: {error}");
        assert!(measured.bytes_max < 32 << 20, "{name}: {} bytes", measured.bytes_max);
    }
    // Others have no need of one.
    for (name, history) in [
        ("roles", format!("[{{{}{ends}", many(r#""role":"tool","#))),
        ("metadata", format!("[{{{}{ends}", many(r#""metadata":{"time":{"compacted":1}},"#))),
        (
            "blocks",
            format!(
                r#"[{{"content":[{}1],"role":"tool"}}]"#,
                many(r#"{"type":"text","text":"a"},"#)
            ),
        ),
        ("white space", format!("[{}]", many("      "))),
        ("turns", format!("[{}1]", many(r#"{"role":"user"},"#))),
    ] {
        let program = program(&PruneSpec::new());
        let measured = allocation_counter::measure(|| {
            let mut run = PruneFilter::new(&program, tamis::WriteSink::new(std::io::sink()));
            for chunk in history.as_bytes().chunks(64 << 10) {
                run.write(chunk).unwrap();
            }
            run.end().unwrap();
        });
        assert!(measured.bytes_max < 12 << 20, "{name}: {} bytes", measured.bytes_max);
    }
}

/// A text is kept while it could be a placeholder, and a template may be long.
#[test]
fn outputs_that_could_be_placeholders_reach_the_limit() {
    let content = format!(r#""content":"{}","#, "a".repeat(10_000));
    let history = format!(r#"[{{{}"role":"tool"}},{{"role":"user"}}]"#, content.repeat(2000));
    let program = program(&PruneSpec::new().keep_turns(1).placeholder("{id}".repeat(250) + "."));
    let measured = allocation_counter::measure(|| {
        let error = prune_slice(&program, history.as_bytes()).unwrap_err().error;
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.limit(), Some("held"), "{error}");
    });
    assert!(measured.bytes_max < 8 << 20, "{} bytes", measured.bytes_max);
}

#[test]
fn limits_of_nothing_and_of_one() {
    let history = br#"[{"role":"user"},{"role":"tool","content":"a","metadata":{"toolName":"t"}},{"role":"user"},{"role":"user"}]"#;
    let prune = PruneSpec::new().now(NOW);
    let compiled = PruneProgram::compile(&prune).unwrap();
    let expected = slice(&compiled, history);
    for number in [0, 1, 2, 3, 100, 1000] {
        for (name, limits) in [
            ("depth", Limits::new().with_depth(number)),
            ("key", Limits::new().with_key(number)),
            ("held", Limits::new().with_held(number as u64).with_spill(0)),
            ("spill", Limits::new().with_held(0).with_spill(number as u64)),
            ("held and a file", Limits::new().with_held(number as u64)),
        ] {
            let program = compiled.clone().with_limits(limits);
            let whole = chunks(&program, [&history[..]]);
            for size in [1, 7] {
                let run = chunks(&program, history.chunks(size));
                assert_eq!(run, whole, "{name} {number}, chunks of {size}");
            }
            match whole.output {
                Ok(output) => {
                    assert_eq!(&output, expected.output.as_ref().unwrap(), "{name} {number}")
                }
                Err((kind, offset, ..)) => {
                    assert_eq!(kind, ErrorKind::Limit, "{name} {number}");
                    assert!(offset.is_some(), "{name} {number}");
                    // The names of tools are only held in memory.
                    assert!(number < 1000 || name == "spill", "{name} {number}");
                }
            }
        }
    }
}

/// opencode: outputs of the newest 40,000 tokens stay, and nothing goes unless it is more than 20,000 tokens.
#[test]
fn with_its_thresholds_it_does_what_opencode_does() {
    let prune = PruneSpec::new()
        .protect_tokens(40_000)
        .minimum_tokens(20_000)
        .stop_at_summary(true)
        .now(NOW);
    let part = |tokens: usize| {
        let output = "x".repeat(tokens * 4);
        format!(
            r#"{{"info":{{"role":"assistant"}},"parts":[{{"type":"tool","tool":"t","state":{{"output":"{output}","time":{{"start":1}}}}}}]}},"#
        )
    };
    let user = r#"{"info":{"role":"user"},"parts":[]}"#;
    for (sizes, gone) in [
        (&[30_000, 20_000, 30_000][..], 2),
        (&[20_000, 40_000], 0),
        (&[20_001, 40_000], 1),
        (&[1, 20_000, 40_000], 2),
        (&[60_000], 1),
        (&[19_000], 0),
        (&[41_000, 39_000], 1),
    ] {
        let parts: String = sizes.iter().map(|size| part(*size)).collect();
        // Results of the last turns do not count.
        let history = format!("[{user},{parts}{user},{}{user}]", part(90_000));
        let (output, report) = prune_slice(&program(&prune), history.as_bytes()).unwrap();
        assert_eq!(report.results_pruned, gone, "{sizes:?}");
        assert_eq!(
            report.refused,
            (sizes == [20_000, 40_000]).then_some(PruneRefusal::MinimumTokens),
            "{sizes:?}"
        );
        let (again, report) = prune_slice(&program(&prune), &output).unwrap();
        assert!(again == output && report.results_pruned == 0, "{sizes:?}");
    }
}
