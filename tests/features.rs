//! The library without its optional features, and with each of them.
//!
//! `cargo test` turns all features on. `cargo test -p tamis --test features` leaves them off, and with `--features NAME` the
//! tests say what that feature changes.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the report")]

use tamis::content::Content;
use tamis::spec::{Budget, Compact, Omitted};
use tamis::text::TextSpec;
use tamis::{CallOptions, Error, ErrorKind, Program, Report, Spec, filter_slice};

/// Filters `document` within a budget of `tokens`, with no items that are always kept.
fn within(spec: &Spec, tokens: u64, document: &str) -> (String, Report) {
    let options = CallOptions::new().with_budget(Budget::Tokens(tokens)).with_min_items(0);
    let options = options.with_omitted(Omitted::Silent);
    let program = Program::compile(spec).unwrap();
    let (output, report) =
        filter_slice(program.with_options(&options), document.as_bytes()).unwrap();
    (String::from_utf8(output).unwrap(), report)
}

/// Without a vocabulary a token is four bytes, and the report says so.
#[test]
fn a_budget_in_tokens() {
    let items = vec![r#"{"name":"harbour","id":1}"#; 20].join(",");
    let document = format!("[{items}]");
    for tokens in [1, 2, 20, 64, 100] {
        let (output, report) = within(&Spec::new(), tokens, &document);
        assert!(report.budget_applied);
        assert_eq!(report.tokens_limit, Some(tokens));
        assert!(report.tokens_estimated);
        assert!(report.budget_exceeded || report.tokens_result <= Some(tokens), "{report:?}");
        let estimate = |bytes: usize| Some((bytes as u64).div_ceil(4));
        assert_eq!(report.tokens_result, estimate(output.len()));
        assert_eq!(report.tokens_original, estimate(document.len()));
        let kept = (tokens * 4).saturating_sub(1) / 26;
        assert_eq!(report.items_kept, Some(kept), "{tokens} tokens: {output}");
    }
    let (output, report) = within(&Spec::new(), 1000, &document);
    assert_eq!((output, report.budget_applied), (document, false));
}

/// A text is cut by the same measure as a document.
#[cfg(feature = "content")]
#[test]
fn a_text_within_a_number_of_tokens() {
    let words = "Harbour lantern quartz meadow. ".repeat(40);
    let program = Program::compile(&Spec::new().content(Content::new().max_tokens(50))).unwrap();
    let (output, report) = filter_slice(&program, words.as_bytes()).unwrap();
    assert!(output.len() < words.len() / 2);
    assert!(report.budget_applied);
    assert!(report.tokens_estimated);
    let estimate = words.len() as u64 / 4;
    assert!(report.tokens_original.unwrap().abs_diff(estimate) <= 1, "{report:?}");
}

/// A summary is measured against a budget by the same measure as the items.
#[cfg(feature = "template")]
#[test]
fn a_summary_within_a_number_of_tokens() {
    let document = r#"[{"name":"harbour"},{"name":"lantern"}]"#;
    let spec = Spec::new().compact(Compact::new("{{.name}}"));
    let (output, report) = within(&spec, 30, document);
    let summary = r#"{"summary":"harbour\nlantern","_compact":true,"_original_items":2}"#;
    assert_eq!((output.as_str(), report.budget_exceeded), (summary, false));
    let (_, report) = within(&spec, 2, document);
    assert!(report.budget_exceeded, "{report:?}");
}

/// A rule whose feature is off is refused when the spec is compiled.
#[test]
fn rules_of_a_feature() {
    let rules: [(&str, bool, Spec); 3] = [
        ("content", cfg!(feature = "content"), Spec::new().content(Content::new())),
        ("template", cfg!(feature = "template"), Spec::new().compact(Compact::new("x"))),
        ("text", cfg!(feature = "text"), Spec::new().text_filter(TextSpec::new())),
    ];
    for (feature, is_on, spec) in rules {
        let compiled: Result<Program, Error> = Program::compile(&spec);
        assert_eq!(compiled.is_ok(), is_on, "{feature}");
        if let Err(error) = compiled {
            assert_eq!(error.kind(), ErrorKind::Spec);
            let message = format!("needs tamis built with the feature `{feature}`");
            assert!(error.to_string().contains(&message), "{error}");
        }
    }
}

/// Names are compared with misspelt paths whatever the features.
#[test]
fn suggestions() {
    let options = CallOptions::new().with_suggestions(true);
    let program =
        Program::compile(&Spec::new().root("object").select("id").select("nmae")).unwrap();
    let document = br#"{"id":1,"name":"harbour"}"#;
    let (_, report) = filter_slice(program.with_options(&options), document).unwrap();
    let meant = report.missed.iter().map(|missed| missed.meant.as_deref());
    assert_eq!(meant.collect::<Vec<_>>(), [Some("name")]);
}

/// Bytes that wait go to a temporary file when memory is full, also without asynchronous drivers.
#[test]
fn held_bytes_spill() {
    let limits = tamis::Limits::new().with_held(16 << 10).with_spill(1 << 20);
    let options = CallOptions::new().with_limits(limits).with_budget(Budget::Bytes(100_000));
    let program = Program::compile(&Spec::new()).unwrap();
    let document = format!("[{}1]", r#"{"name":"harbour"},"#.repeat(10_000));
    let (output, report) =
        filter_slice(program.with_options(&options), document.as_bytes()).unwrap();
    assert!(output.len() <= 100_000 && report.budget_applied);
    assert!(report.held_peak_bytes > 16 << 10, "{report:?}");
}

/// A response with a content coding is refused unless the feature `decode` is on and the layer decodes.
#[cfg(feature = "tower")]
#[tokio::test]
async fn an_encoded_response() {
    use bytes::Bytes;
    use http_body_util::{BodyExt, Full};
    use tower::{ServiceBuilder, ServiceExt};

    const DOCUMENT: &str = r#"[{"id": 1, "name": "x"}]"#;
    let program = Program::compile(&Spec::new().select("id")).unwrap();
    for (coding, status) in [("identity", 200), ("gzip", 502)] {
        let program = program.clone();
        let layer =
            tamis::http::FilterLayer::new(move |_, _| Some(tamis::http::Transform::json(&program)));
        let service = ServiceBuilder::new().layer(layer).service_fn(async |_: http::Request<()>| {
            let response = http::Response::builder().header("content-encoding", coding);
            response.body(Full::<Bytes>::from(DOCUMENT))
        });
        let request = http::Request::get("/").body(()).unwrap();
        let response = service.oneshot(request).await.unwrap();
        assert_eq!(response.status(), status, "{coding}");
        if status == 200 {
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, r#"[{"id":1}]"#);
        }
    }
}
