//! Documents of difficult parts: the output is never empty, never too long, and does not depend on the chunks.

use tamis::content::{Content, ContentFormat};
use tamis::{Error, ErrorKind, filter_slice};

use tamis_testkit::content::{document, within};
use tamis_testkit::content::{in_pieces, program, shown};
use tamis_testkit::prng::Prng;

#[test]
fn never_empty_never_too_long_however_it_comes() {
    let mut prng = Prng::new(8);
    let mut from = std::collections::BTreeMap::new();
    let mut failed = 0;
    for round in 0..1500 {
        let text = document(&mut prng);
        let max = if prng.one_in(3) { 0 } else { 1 + prng.below(60) as u64 };
        let format = prng.pick(&[ContentFormat::Text, ContentFormat::Markdown]);
        let names = prng.one_in(2);
        let content = Content::new().max_tokens(max).format(format);
        let program = program(if names { content.extract("title") } else { content });
        let options = tamis_testkit::call_options();
        let call = program.with_options(&options);
        let whole = filter_slice(call, text.as_bytes()).map_err(Error::from);
        let (output, report) = match &whole {
            Ok((output, report)) => (std::str::from_utf8(output).unwrap(), report),
            Err(error) => {
                // With named fields, invalid JSON is an error.
                let broken = [ErrorKind::Syntax, ErrorKind::UnexpectedEnd, ErrorKind::Encoding];
                let is_json = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n', '\u{c}']);
                let is_json = names && is_json.starts_with(['{', '[', '"']);
                let expected = is_json && broken.contains(&error.kind());
                assert!(expected || error.kind() == ErrorKind::Limit, "{round}: {text:?}: {error}");
                failed += u32::from(expected);
                continue;
            }
        };
        let context = format!("{round}: {text:?}\n{output:?}");
        *from.entry(report.content_from.unwrap().as_str()).or_insert(0) += 1;
        // A document of white space passes unchanged.
        assert_eq!(output.trim().is_empty(), text.trim().is_empty(), "{context}");
        if !output.is_empty() {
            within(output, report, max);
            if report.budget_applied {
                assert!(!report.tokens_estimated);
            }
        }
        assert_eq!(
            report.output_bytes.unwrap_or(report.result_bytes),
            output.len() as u64,
            "{context}"
        );
        let whole = shown(whole);
        for size in [1 + prng.below(10), 1 + prng.below(1000)] {
            let pieces = in_pieces(&program, &tamis_testkit::call_options(), text.as_bytes(), size);
            assert_eq!(shown(pieces), whole, "{context}");
        }
    }
    assert!(failed > 10, "{failed}");
    for kind in ["article", "body", "page", "fields", "text", "response"] {
        assert!(from.contains_key(kind), "{kind}: {from:?}");
    }
}
