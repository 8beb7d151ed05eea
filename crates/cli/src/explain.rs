//! `tamis explain`: prints the compiled program and its plan, as text or as JSON.
//!
//! This module must not depend on rules: the library explains them.

use std::path::PathBuf;

use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis::Explanation;

use crate::diagnostics::{Console, Exit, Usage};
use crate::groups::Selection;
use crate::place::called;
use crate::print::print;
use crate::resolve;
use crate::samples::FilteredSample;

pub(crate) const HELP_SHORT: &str = "For more and for examples see --help.";

pub(crate) const HELP: &str = "\
Use the same flags as for tamis filter. With SAMPLE, a response of the tool, it also says what is kept of it.

Examples:
  tamis explain --select id,login=owner.login --max-items 25
  tamis explain --retain /user/name,/items/id
  tamis explain --exclude body --json
  tamis explain --tool github.list-repos corpus/github-list-repos.json";

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A response to which the filter is applied
    #[arg(value_name = "SAMPLE", conflicts_with = "json")]
    sample: Option<PathBuf>,

    #[command(flatten)]
    selection: Selection,

    /// Print it as JSON, on one line
    ///
    /// The keys are stable within a `version`. They are documented at `Explanation` in the library.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Explains the filter that the flags select.
pub(crate) fn run(args: &ExplainArgs) -> Exit {
    let console = Console::default();
    let explained = resolve::select(&args.selection).and_then(|selected| {
        let program = selected.program().map_err(|error| Usage::from(&error))?;
        Ok((selected, program))
    });
    let (selected, program) = match explained {
        Ok(explained) => explained,
        Err(usage) => {
            console.usage(&usage);
            return Exit::Usage;
        }
    };
    let explanation = program.explain(&selected.options);
    if let Some(path) = &args.sample {
        let sample = match FilteredSample::new(&program, &selected.options, path) {
            Ok(sample) => sample,
            Err(error) => {
                console.say(&called(path), error);
                return Exit::Failed;
            }
        };
        return print(format!("{explanation}\n{}", sample.summary(&called(path))).as_bytes());
    }
    if !args.json {
        return print(explanation.to_string().as_bytes());
    }
    match json(&explanation) {
        Ok(text) => print(&text),
        Err(error) => {
            console.say("explain", error);
            Exit::Failed
        }
    }
}

fn json(explanation: &Explanation) -> std::io::Result<Vec<u8>> {
    let mut json = JsonStreamWriter::new(Vec::new());
    json.serialize_value(explanation).map_err(std::io::Error::other)?;
    let mut text = json.finish_document()?;
    text.push(b'\n');
    Ok(text)
}
