//! Rules, a history, the pruned history and its report: `tests/cases/history/*.toml`.

use serde::Deserialize;
use serde_json::Value;
use tamis_chat::PruneSpec;

use tamis_testkit::cases::{self, CaseTest, expect};
use tamis_testkit::history::drivers::check;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryCase {
    name: String,
    #[serde(default)]
    prune: PruneSpec,
    input: String,
    /// `None` if nothing changes.
    output: Option<String>,
    /// Expected keys of the report.
    #[serde(default)]
    report: serde_json::Map<String, Value>,
}

pub(crate) fn tests() -> Vec<CaseTest> {
    cases::tests("history", run)
}

fn run(case: &cases::Case<HistoryCase>) -> Result<(), String> {
    let HistoryCase { name, prune, input, output, report } = &case.data;
    let run = check(name, prune, input.as_bytes());
    let pruned = run.output.map_err(|error| format!("{error:?}"))?;
    let pruned = String::from_utf8(pruned).expect("JSON is UTF-8");
    expect("output", &pruned.as_str(), &output.as_ref().unwrap_or(input).as_str())?;
    let found = run.report.expect("a run that succeeds has a report");
    for (key, value) in report {
        expect(&format!("report: {key}"), &found.get(key).unwrap_or(&Value::Null), &value)?;
    }
    let bytes = |text: &str| i64::try_from(text.len()).expect("a short text");
    let saved = output.as_ref().map_or(0, |output| bytes(input) - bytes(output));
    expect("bytes_saved", &found["bytes_saved"], &saved.into())?;
    expect("bytes", &found["bytes"], &input.len().into())?;
    let first = found.get("first_changed").and_then(Value::as_u64);
    let same = output.as_ref().map(|output| {
        input.bytes().zip(output.bytes()).take_while(|(one, other)| one == other).count() as u64
    });
    // A placeholder may begin with the same bytes as the text that it replaces.
    assert!(first <= same && first.is_some() == same.is_some(), "{first:?} {same:?}");
    Ok(())
}
