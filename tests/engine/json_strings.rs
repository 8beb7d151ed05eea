//! `json_strings` against a composition of public parts: the strings are found by a `ValueFinder`, decoded, filtered as
//! documents of their own, encoded, and put in the place of the old ones.

use std::cell::Cell;

use tamis::json::{JsonKind, StringDecoder, StringEncoder, ValueFinder, ValuePaths};
use tamis::spec::{
    Budget, Condition, JsonStringFallback, JsonStrings, OnError, PatchOp, WhenFallback,
};
use tamis::{ErrorKind, Program, Sink, Spec, filter_slice};
use tamis_testkit::drivers::{Effort, Run, Subject, agree, agree_reader};
use tamis_testkit::prng::Prng;

/// A JSON text, sometimes invalid.
fn text(prng: &mut Prng, depth: usize) -> String {
    let scalars = [
        "1.10",
        "-0",
        "true",
        "null",
        "\"a\"",
        "\"\\u0041\\n\"",
        "\"é\\\\\\/\"",
        "\"\\ud83d\"",
        "01",
    ];
    match prng.below(if depth == 0 { 4 } else { 12 }) {
        0..4 => {
            // The last one is invalid.
            let known = scalars.len() - usize::from(!prng.one_in(9));
            scalars[prng.below(known)].to_owned()
        }
        4..8 => {
            let keys = ["a", "x", "\\u0078", "items", "long name"];
            let member = |prng: &mut Prng| {
                let (key, value) = (prng.pick(&keys), text(prng, depth - 1));
                format!("{}\"{key}\":{}{value}", space(prng), space(prng))
            };
            let count = prng.below(4);
            let members: Vec<String> = (0..count).map(|_| member(prng)).collect();
            format!("{{{}{}}}", members.join(","), space(prng))
        }
        _ => {
            let count = prng.below(4);
            let elements: Vec<String> = (0..count).map(|_| text(prng, depth - 1)).collect();
            format!("[{}{}]", space(prng), elements.join(","))
        }
    }
}

fn space(prng: &mut Prng) -> &'static str {
    if prng.one_in(5) { prng.pick(&[" ", "\n", "\t ", "\r\n"]) } else { "" }
}

/// Spells a text as the contents of a string, with needless escapes, and sometimes a lone surrogate.
fn spell(prng: &mut Prng, text: &str) -> String {
    let mut spelled = String::new();
    for char in text.chars() {
        match char {
            '"' | '\\' if prng.one_in(6) => {
                spelled.push_str(&format!("\\u{:04X}", u32::from(char)))
            }
            '"' | '\\' => spelled.extend(['\\', char]),
            '\n' => spelled.push_str("\\n"),
            char if char < ' ' => spelled.push_str(&format!("\\u{:04x}", u32::from(char))),
            char if prng.one_in(20) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    spelled.push_str(&format!("\\u{unit:04x}"));
                }
            }
            char => spelled.push(char),
        }
    }
    if prng.one_in(20) {
        spelled.push_str(prng.pick(&["\\ud83d", "\\ude00", "}", " x", "\\\\"]));
    }
    spelled
}

/// A document with strings at `/content/text`, and others.
fn document(prng: &mut Prng) -> String {
    let block = |prng: &mut Prng| {
        let text = match prng.below(8) {
            0 => prng.pick(&["", " ", "plain", "{", "12", "\"[]\""]).to_owned(),
            _ => format!("{}{}{}", space(prng), text(prng, 3), space(prng)),
        };
        let value = match prng.below(10) {
            0 => prng.pick(&["7", "null", "{\"text\":\"[1]\"}", "false"]).to_owned(),
            _ => format!("\"{}\"", spell(prng, &text)),
        };
        let key = prng.pick(&["text", "text", "te\\u0078t"]);
        let other = prng.pick(&["", "\"type\":\"text\",", "\"x\":\"{\\\"x\\\":1}\","]);
        format!("{{{other}\"{key}\":{}{value}}}", space(prng))
    };
    let count = prng.below(5);
    let blocks: Vec<String> = (0..count).map(|_| block(prng)).collect();
    format!("{{\"n\":1.0,\"content\":[{}],\"text\":\"{{}}\"}}", blocks.join(","))
}

/// Whether a text is one JSON object or array.
fn is_json(text: &[u8]) -> bool {
    let trimmed = text.trim_ascii();
    let program = Program::compile(&Spec::new()).unwrap();
    // White space at the ends is that of JSON: the texts here have no other.
    trimmed.starts_with(b"{") && filter_slice(&program, text).is_ok()
        || trimmed.starts_with(b"[") && filter_slice(&program, text).is_ok()
}

/// Returns the expected output, or `None` for an error.
fn expected(document: &[u8], inner: &Program, otherwise: JsonStringFallback) -> Option<Vec<u8>> {
    let minified = filter_slice(&Program::compile(&Spec::new()).unwrap(), document).unwrap().0;
    let found = ValuePaths::new(["content[].text"]).unwrap().find(&minified).unwrap();
    let mut output = Vec::new();
    let mut done = 0;
    for value in found {
        let (start, end) = (value.span.start as usize, value.span.end as usize);
        let mut text = Vec::new();
        let mut is_text = value.kind == JsonKind::String;
        if is_text {
            let mut decoder = StringDecoder::new();
            is_text = decoder.write(&minified[start + 1..end - 1], &mut text).is_ok()
                && decoder.end().is_ok();
        }
        if is_text && is_json(&text) {
            let (filtered, _) = filter_slice(inner, &text).ok()?;
            output.extend_from_slice(&minified[done..=start]);
            StringEncoder::new(&mut output).write(&filtered);
            done = end - 1;
            continue;
        }
        match otherwise {
            JsonStringFallback::Keep => {}
            JsonStringFallback::Error => return None,
            JsonStringFallback::Drop => {
                // The member goes, with the comma before it.
                let key = value.key.unwrap().start as usize;
                let comma = usize::from(minified[key - 1] == b',');
                output.extend_from_slice(&minified[done..key - comma]);
                done = end;
            }
        }
    }
    output.extend_from_slice(&minified[done..]);
    Some(output)
}

#[test]
fn strings_are_filtered_like_documents() {
    let inner = [
        Spec::new().exclude("x").root("object"),
        Spec::new().retain("/a").retain("/items/x"),
        Spec::new().select("x").max_items(1),
        Spec::new().drop_nulls(true).root("object"),
        Spec::new().select("x").root("object").on_error(OnError::Closed),
    ];
    let otherwise = [JsonStringFallback::Keep, JsonStringFallback::Drop, JsonStringFallback::Error];
    let (kept, failed) = (Cell::new(0), Cell::new(0));
    for number in 0..600 {
        let mut prng = Prng::new(number);
        let rules = &inner[prng.below(inner.len())];
        let otherwise = prng.pick(&otherwise);
        let entry = JsonStrings::new("/content/text", rules.clone()).otherwise(otherwise);
        let program = Program::compile(&Spec::new().json_strings(entry)).unwrap();
        let document = document(&mut prng).into_bytes();
        let expected = expected(&document, &Program::compile(rules).unwrap(), otherwise);
        let options = tamis_testkit::call_options();
        let subject = Subject { program: &program, options: &options, document: &document };
        let run: Run = agree(subject, number, Effort::Splits(4))
            .and_then(|run| agree_reader(subject, number, &run).map(|()| run))
            .unwrap_or_else(|why| panic!("{number}: {why}\n{}", document.escape_ascii()));
        let output = filter_slice(&program, &document);
        match (&expected, &output) {
            (Some(expected), Ok((output, report))) => {
                kept.set(kept.get() + 1);
                let [inner] = report.inner.as_slice() else { panic!("{report:?}") };
                assert!(inner.filtered + inner.not_json <= 4);
                assert_eq!(
                    String::from_utf8_lossy(output),
                    String::from_utf8_lossy(expected),
                    "{number}: {}",
                    String::from_utf8_lossy(&document)
                );
            }
            (None, Err(failure)) => {
                failed.set(failed.get() + 1);
                let kind = failure.error.kind();
                let known = [ErrorKind::Syntax, ErrorKind::Miss, ErrorKind::UnexpectedEnd];
                assert!(known.contains(&kind), "{number}: {:?}", failure.error);
            }
            _ => panic!(
                "{number}: {expected:?} {output:?} of {}",
                String::from_utf8_lossy(&document)
            ),
        }
        drop(run);
    }
    assert!(kept.get() > 200 && failed.get() > 50, "{} {}", kept.get(), failed.get());
}

/// A spec with strings and other rules writes what the other rules write of the output of the strings.
#[test]
fn other_rules_read_what_the_strings_leave() {
    let rest = [
        Spec::new().retain("/content/text"),
        Spec::new().exclude("type").root("content").max_items(2),
        Spec::new().select("text").root("content").max_items(1).stop_early(true),
        Spec::new().budget(Budget::Bytes(60)),
        Spec::new().patch(PatchOp::remove("/content/0")),
        Spec::new().patch(PatchOp::replace("/n", 2)).retain("/n").retain("/text"),
        Spec::new()
            .when(Condition::new("/content/0/text", "{}"), Spec::new().retain("/n"))
            .otherwise(WhenFallback::Pass),
        Spec::new().extract("content"),
        Spec::new().select("text").on_error(OnError::Closed),
    ];
    let (mut same, mut failed) = (0, 0);
    for number in 0..900 {
        let mut prng = Prng::new(number);
        let rules = &rest[prng.below(rest.len())];
        let at = if *rules == rest[7] { "/text" } else { "/content/text" };
        let otherwise =
            if prng.one_in(4) { JsonStringFallback::Error } else { JsonStringFallback::Drop };
        let inner = Spec::new().exclude("x").root("object");
        let entry = |at| JsonStrings::new(at, inner.clone()).otherwise(otherwise);
        let both = Program::compile(&rules.clone().json_strings(entry(at))).unwrap();
        let first = Program::compile(&Spec::new().json_strings(entry("/content/text"))).unwrap();
        let second = Program::compile(rules).unwrap();
        let document = document(&mut prng).into_bytes();
        let options = tamis_testkit::call_options();
        let subject = Subject { program: &both, options: &options, document: &document };
        agree(subject, number, Effort::Splits(4))
            .and_then(|run| agree_reader(subject, number, &run))
            .unwrap_or_else(|why| panic!("{number}: {why}\n{}", document.escape_ascii()));
        let strings = filter_slice(&first, &document);
        let output = filter_slice(&both, &document);
        let expected = match &strings {
            Ok((left, _)) => filter_slice(&second, left).map_err(|failed| failed.error.kind()),
            Err(failed) => Err(failed.error.kind()),
        };
        match (expected, output) {
            (Ok((expected, _)), Ok((output, _))) => {
                same += 1;
                let (output, expected) =
                    (String::from_utf8_lossy(&output), String::from_utf8_lossy(&expected));
                assert_eq!(output, expected, "{number}");
            }
            // An early stop comes before the error of a later string.
            (Err(_), Ok((_, report))) => assert!(report.tail_unread, "{number}"),
            (Err(expected), Err(failure)) => {
                failed += 1;
                // A failed rule may come before the error of a later string.
                let kind = failure.error.kind();
                let rule = [ErrorKind::Patch, ErrorKind::Miss, ErrorKind::Duplicate];
                assert!(kind == expected || rule.contains(&kind), "{number}: {kind:?}");
            }
            (Ok(_), Err(failure)) => panic!("{number}: {:?}", failure.error),
        }
    }
    assert!(same > 300 && failed > 50, "{same} {failed}");
}

/// A text of 10 MB that becomes invalid at its end leaves unchanged, within the limits, and the work is linear.
#[test]
fn long_texts_that_become_invalid_are_kept() {
    let program = Spec::new().json_strings(JsonStrings::new("/t", Spec::new().exclude("x")));
    let program = Program::compile(&program).unwrap();
    let block = r#"{\"x\":\"\\u0041\",\"id\":12345},"#;
    let text = format!("[{}", block.repeat((10 << 20) / block.len()));
    let document = format!("{{\"t\":\"{text}\",\"u\":1}}");
    let (output, report) = filter_slice(&program, document.as_bytes()).unwrap();
    assert!(output == document.as_bytes());
    assert_eq!((report.inner[0].filtered, report.inner[0].not_json), (0, 1));
    assert!(report.held_peak_bytes >= text.len() as u64);
}

/// The finder passes over 100 KB in a small fraction of a second, even without optimisation.
#[test]
fn a_finder_reads_a_message_once() {
    let block = r#"{"type":"text","text":"a text with \"quotes\" and [brackets]","annotations":{"a":[1,2,3]}},"#;
    let blocks = block.repeat(1000);
    let message = format!(
        r#"{{"jsonrpc":"2.0","result":{{"content":[{}]}},"id":7}}"#,
        blocks.trim_end_matches(',')
    );
    let paths =
        ValuePaths::new(["id", "method", "result.content[].text", "result.isError"]).unwrap();
    let found = paths.find(message.as_bytes()).unwrap();
    assert_eq!(found.len(), 1001);
    for chunk in [1, 7, 4096] {
        let mut finder = ValueFinder::new(&paths);
        for chunk in message.as_bytes().chunks(chunk) {
            finder.write(chunk).unwrap();
        }
        finder.end().unwrap();
        assert!(finder.into_found() == found);
    }
}
