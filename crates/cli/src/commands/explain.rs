//! `tamis explain`: prints the compiled program and its plan, as text or as JSON.
//!
//! This module must not depend on rules: the library explains them.

use std::path::{Path, PathBuf};

use tamis::{Error, Program};

use crate::console::print::{json, print};
use crate::console::{Console, Exit, Usage};
use crate::files;
use crate::files::place::{Place, called};
use crate::filters::samples::FilteredSample;
use crate::flags::groups::Selection;
use crate::job::resolve::{self, Selected};
use crate::job::why::{Asked, rereadable};

pub(crate) const HELP_SHORT: &str = "For more and for examples see --help.";

pub(crate) const HELP: &str = "\
Use the same flags as for tamis filter. With SAMPLE, a response of the tool, it also says what is kept of it.

Examples:
  tamis explain --select id,login=owner.login --max-items 25
  tamis explain --retain /user/name,/items/id
  tamis explain --exclude body --json
  tamis explain --tool github.list-repos corpus/github-list-repos.json
  tamis explain --why --tool github.list-repos corpus/github-list-repos.json
  tamis explain --why=/0/owner/login --tool github.list-repos corpus/github-list-repos.json";

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    /// A response to which the filter is applied
    #[arg(value_name = "SAMPLE")]
    sample: Option<PathBuf>,

    #[command(flatten)]
    selection: Selection,

    /// Print it as JSON, on one line
    ///
    /// The keys are stable within a `version`. They are documented at `Explanation` in the library.
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Say which rule removes how much of SAMPLE at which path, or what becomes of one value, instead
    ///
    /// With =POINTER, a JSON Pointer into SAMPLE, only about the value there.
    #[arg(
        long,
        value_name = "POINTER",
        num_args = 0..=1,
        require_equals = true,
        requires = "sample",
        help_heading = "Output"
    )]
    why: Option<Option<String>>,
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
        Err(usage) => return console.refuse(&usage),
    };
    match Asked::new(args.why.clone(), args.json) {
        Ok(None) => {}
        Ok(Some(asked)) => return why(&asked, &program, &selected, args.sample.as_deref()),
        Err(usage) => return console.refuse(&usage),
    }
    if args.json && args.sample.is_some() {
        let message = "--json and SAMPLE: only --why describes a sample as JSON; add --why, or leave one of them out";
        return console.refuse(&Usage::new(message));
    }
    let explanation = program.explain(&selected.options);
    if let Some(path) = &args.sample {
        let sample = match FilteredSample::new(&program, &selected.options, path) {
            Ok(sample) => sample,
            Err(error) => return console.fail(&called(path), error),
        };
        return print(format!("{explanation}\n{}", sample.summary(&called(path))).as_bytes());
    }
    if !args.json {
        return print(explanation.to_string().as_bytes());
    }
    match json(&explanation) {
        Ok(text) => print(&text),
        Err(error) => console.fail("explain", error),
    }
}

/// Prints which rule removes which bytes of a sample.
fn why(asked: &Asked, program: &Program, selected: &Selected, sample: Option<&Path>) -> Exit {
    let path = sample.unwrap_or_else(|| Path::new("-"));
    let opened = files::open(&Place::from(path.to_path_buf()))
        .and_then(|file| rereadable(file, selected.options.limits()));
    let explained = opened
        .map_err(Error::read)
        .and_then(|(file, _)| asked.explain(program.with_options(&selected.options), file));
    match explained {
        Ok(text) => print(&text),
        Err(error) => Console::default().fail(&called(path), error),
    }
}
