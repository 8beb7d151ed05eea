//! A document and its text: `tests/cases/content/*.toml`.

use serde::Deserialize;
use tamis::content::{Content, ContentSource};
use tamis_testkit::cases::{self, CaseTest, expect};
use tamis_testkit::content::{program, run};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[allow(dead_code, reason = "the name is read before")]
    name: String,
    input: String,
    #[serde(default)]
    content: Content,
    output: String,
    from: String,
    /// The reason for which the rules did not apply.
    note: Option<String>,
    /// Whether a part of the page is removed because it is hidden.
    #[serde(default)]
    hidden: bool,
}

pub(crate) fn tests() -> Vec<CaseTest> {
    cases::tests("content", |case: &cases::Case<Document>| {
        let case = &case.data;
        let (output, report) = run(
            &program(case.content.clone()),
            &tamis_testkit::call_options(),
            case.input.as_bytes(),
        );
        expect("output", &output, &case.output)?;
        expect(
            "content_from",
            &report.content_from.map(ContentSource::as_str),
            &Some(case.from.as_str()),
        )?;
        expect("filter_error", &report.fallback, &case.note)?;
        expect("content_hidden", &report.content_hidden, &case.hidden)?;
        expect("filter_applied", &report.applied, &(case.from != "response"))?;
        let bytes = case.input.trim_end_matches('\n').len() as u64;
        expect("filter_original_bytes", &report.original_bytes, &bytes)
    })
}
