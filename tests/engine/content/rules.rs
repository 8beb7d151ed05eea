//! Errors, limits and budgets of content, and the rules that it cannot be combined with.

use tamis::content::{Content, ContentSource};
use tamis::{ErrorKind, Limits, Program, Spec, filter_slice};
use tamis_testkit::content::{in_pieces, program, run, shown};

#[test]
fn an_empty_document_is_an_error() {
    let error = filter_slice(&program(Content::new()), b"").unwrap_err().error;
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::UnexpectedEnd, "byte 0: the document is empty".into())
    );
}

#[test]
fn broken_json_is_an_error_where_fields_are_named() {
    let program = program(Content::new().extract("title"));
    for (document, kind, offset) in [
        (r#"{"title":"T","ssn":"x""#, ErrorKind::UnexpectedEnd, 22),
        (r#"{"ssn":"x","title""#, ErrorKind::UnexpectedEnd, 18),
        (r#"{"title":"T"} x"#, ErrorKind::Syntax, 14),
        ("[1] See the manual.", ErrorKind::Syntax, 4),
        ("[", ErrorKind::UnexpectedEnd, 1),
        (r#"[1,{"title":"T","ssn":"CANARY""#, ErrorKind::UnexpectedEnd, 30),
    ] {
        let error = filter_slice(&program, document.as_bytes());
        let error = error.unwrap_err().error;
        assert_eq!((error.kind(), error.offset()), (kind, Some(offset)), "{document}: {error}");
        for size in [1, 7] {
            let again =
                in_pieces(&program, &tamis_testkit::call_options(), document.as_bytes(), size);
            assert_eq!(shown(again), error.to_string());
        }
    }
    // A text that does not begin like JSON is not invalid JSON.
    let (output, report) = run(&program, &tamis_testkit::call_options(), b"<p>A page.");
    assert_eq!((output.as_str(), report.content_from), ("A page.", Some(ContentSource::Article)));
}

#[test]
fn content_goes_with_no_other_rule() {
    for spec in [
        Spec::new().content(Content::new()).select("id"),
        Spec::new().content(Content::new()).max_items(3),
        Spec::new().content(Content::new()).retain("/a"),
        Spec::new().content(Content::new()).budget(tamis::spec::Budget::Bytes(3)),
    ] {
        let error = Program::compile(&spec).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Spec);
        assert!(error.to_string().contains("cannot be combined with other rules"), "{error}");
    }
    let error = Program::compile(&Spec::new().content(Content::new().extract("a..b"))).unwrap_err();
    assert!(error.to_string().starts_with("extract: "), "{error}");
}

#[test]
fn a_budget_of_the_call_goes_first() {
    let text = "One sentence here. Another one is there. And a third.";
    let program = program(Content::new().max_tokens(1));
    let bytes = tamis_testkit::call_options().with_budget(tamis::spec::Budget::Bytes(45));
    let (output, report) = run(&program, &bytes, text.as_bytes());
    assert_eq!(output, "One sentence here. Another one is there.\n\n[... 12 bytes left out]");
    assert_eq!((report.budget_limit, report.budget_original_bytes), (Some(45), Some(53)));
    assert_eq!(report.output_bytes, Some(output.len() as u64));
    let roomy = tamis_testkit::call_options().with_budget(tamis::spec::Budget::Tokens(100));
    let (output, report) = run(&program, &roomy, text.as_bytes());
    assert_eq!(output, text);
    assert!(!report.budget_applied && report.tokens_limit.is_none());
}

#[test]
fn held_bytes_are_bounded() {
    let tight =
        || tamis_testkit::call_options().with_limits(Limits::new().with_held(1000).with_spill(0));
    // This page has no text before its end.
    let page = format!("<html><script>{}</script><p>text", "x".repeat(200_000));
    // This page has text at its beginning.
    let good = format!("<html><p>text</p>{}", "<p>more of it</p>".repeat(20_000));
    let json = format!("{{\"text\": \"{}\"}}", "x".repeat(2000));
    for document in [page.as_bytes(), json.as_bytes()] {
        let error = filter_slice(program(Content::new()).with_options(&tight()), document)
            .unwrap_err()
            .error;
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        for size in [100, 20_000] {
            let again = in_pieces(&program(Content::new()), &tight(), document, size);
            assert_eq!(shown(again), error.to_string());
        }
    }
    let (output, _) =
        filter_slice(program(Content::new()).with_options(&tight()), good.as_bytes()).unwrap();
    assert!(output.starts_with(b"text\n\nmore of it\n\n"));
    let small = tamis_testkit::call_options().with_limits(Limits::new().with_item(1000));
    let error = filter_slice(program(Content::new()).with_options(&small), json.as_bytes())
        .unwrap_err()
        .error;
    assert!(
        error.kind() == ErrorKind::Limit && error.to_string().contains("limit `item`"),
        "{error}"
    );
}

#[test]
fn a_filter_begins_again() {
    let program = program(Content::new().max_tokens(6));
    let mut filter = tamis::Filter::new(&program, Vec::new());
    let mut reports = Vec::new();
    for document in ["<p>One <b>page</b>.", "{\"text\": \"two\"}", "three", "<p>One <b>page</b>."] {
        filter.write(document.as_bytes()).unwrap();
        reports.push(filter.end().unwrap());
        filter.sink_mut().push(b'\n');
        filter.restart();
    }
    assert_eq!(filter.into_sink(), b"One page.\ntwo\nthree\nOne page.\n");
    assert_eq!(reports[0], reports[3]);
    assert_eq!(reports[1].content_from, Some(ContentSource::Fields));
}
