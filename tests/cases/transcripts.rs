//! Recorded outputs of real tools through their filters: `tests/cases/transcripts/transcripts.toml`.
//!
//! `TAMIS_BLESS=1` writes the outputs to `expected/`. Read the difference before you commit it.

use tamis::Limits;
use tamis_command::OutputFilterRegistry;
use tamis_testkit::cases::{self, Case, CaseTest, expect};
use tamis_testkit::commands::drivers::agree;
use tamis_testkit::commands::transcripts::Transcript;
use tamis_testkit::paths;

pub(crate) fn tests() -> Vec<CaseTest> {
    let transcripts = cases::read("tests/cases/transcripts/transcripts.toml", "transcript");
    transcripts.into_iter().map(|case| cases::test("transcripts", case, run)).collect()
}

fn run(case: &Case<Transcript>) -> Result<(), String> {
    let transcript = &case.data;
    let (registry, limits) = (OutputFilterRegistry::builtin(), Limits::new());
    let raw = transcript.raw();
    let (out, report) = agree(&transcript.name, transcript.subject(&registry, &limits, &raw));
    let path = paths::path(&format!("tests/cases/transcripts/expected/{}.txt", transcript.name));
    if cases::bless() {
        std::fs::write(&path, &out).map_err(|error| error.to_string())?;
    }
    let expected = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if out != expected {
        return Err(format!("--- expected\n{}\n--- found\n{}", text(&expected), text(&out)));
    }
    expect("filter", &report.filter, &transcript.filter)?;
    expect("bytes_in", &report.bytes_in, &(raw.len() as u64))?;
    expect("bytes_out", &report.bytes_out, &(out.len() as u64))?;
    expect("chars_out", &report.chars_out, &(text(&out).chars().count() as u64))?;
    expect("changed", &report.changed, &(out != raw))
}
