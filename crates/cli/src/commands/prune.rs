//! `tamis prune`: replaces old tool results in a chat history with placeholders.
//!
//! This module must not depend on shapes of messages: the library does.

use std::fs::File;
use std::io::IsTerminal;
use std::path::PathBuf;

use tamis::{Error, ErrorKind, FailedRun, FailureReport};
use tamis_chat::{PruneProgram, PruneReport, PruneSpec, prune_file, prune_reader};

use crate::console::print::is_closed_pipe;
use crate::console::progress::Bar;
use crate::console::remedies::{Hinted, advised};
use crate::console::{Console, Exit, Usage};
use crate::figures::report::ReportFile;
use crate::figures::stats::saved;
use crate::figures::tokens::Tally;
use crate::files::conflicts::Places;
use crate::files::gzip::{self, Decoded};
use crate::files::head::{self, Head};
use crate::files::place::Place;
use crate::files::watched::WatchedFile;
use crate::files::{self, Output, conflicts};
use crate::flags::groups::Bounds;
use crate::flags::{habits, lists};

pub(crate) const HELP_SHORT: &str = "\
For more and for examples see --help, for the rules `tamis help history`. Exit codes: 0 done, 1 failed, 2 usage.";

pub(crate) const HELP: &str = "\
Examples:
  tamis prune history.json
  tamis prune history.json -o history.json --report report.json
  tamis prune --protect 'memory_*' --placeholder '[{tool}: {bytes} bytes]' history.json
  tamis prune --protect-tokens 40000 --minimum-tokens 20000 --stop-at-summary history.json
  tamis prune --keep-head 200 --keep-tail 100 --stats history.json

The history is an array of messages, or an object with one, such as `messages`, in the format of OpenAI's Chat
Completions or Responses, Anthropic, Gemini or opencode. All other bytes are unchanged. See tamis help history.

Exit codes: 0 done, 1 the input or the run failed, 2 the command line is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// The history; `-` is standard input
    ///
    /// A regular file is read twice. A pipe is buffered until it ends.
    #[arg(value_name = "FILE|-", default_value = "-", hide_default_value = true)]
    file: PathBuf,

    /// Keep everything from the N-th last message of the user [default: 2]
    ///
    /// With fewer messages of the user, nothing is pruned. Messages that contain only results do not count.
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    keep_turns: Option<u64>,

    /// Also keep the results of this tool; `*` matches any text, `?` any character; may be repeated
    ///
    /// The results of `skill` are instructions and are kept by default.
    #[arg(long, value_name = "TOOL", help_heading = "Rules")]
    protect: Vec<String>,

    /// Do not protect `skill`
    #[arg(long, help_heading = "Rules")]
    no_default_protect: bool,

    /// The text that replaces a result [default: <tool-output-compacted />]
    ///
    /// {tool}, {id}, {bytes} and {tokens} describe the result; {{ and }} are braces.
    #[arg(long, value_name = "TEXT", help_heading = "Rules", allow_hyphen_values = true)]
    placeholder: Option<String>,

    /// Keep N characters at the beginning of a pruned text
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    keep_head: Option<u64>,

    /// Keep N characters at the end of a pruned text
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    keep_tail: Option<u64>,

    /// Keep the newest results while they have at most N tokens in total
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    protect_tokens: Option<u64>,

    /// Change nothing unless more than N tokens are removed
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    minimum_tokens: Option<u64>,

    /// Count tokens with the vocabulary `o200k_base`, instead of estimating four bytes per token
    ///
    /// Many times slower.
    #[arg(long, help_heading = "Rules")]
    count_tokens: bool,

    /// Leave everything before the last summary unchanged: a message of the assistant with `summary: true`
    #[arg(long, help_heading = "Rules")]
    stop_at_summary: bool,

    /// Change nothing if fewer bytes are saved than PERCENT of the bytes after the first change
    ///
    /// The prompt cache of a provider is invalid after the first change. 100 saves at least as much as it invalidates.
    #[arg(long, value_name = "PERCENT", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    min_gain: Option<u64>,

    /// Keep the results that the placeholder would not make shorter
    #[arg(long, help_heading = "Rules")]
    only_shorter: bool,

    /// The time to mark results with, in milliseconds since 1970 [default: now]
    #[arg(long, value_name = "MS", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    now: Option<u64>,

    /// Write a report of the run as JSON, even if it failed; `-` is standard error
    #[arg(long, value_name = "PATH|-", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Write to a file, which may be FILE itself
    ///
    /// The output is written to a temporary file, which is renamed when the run succeeds. A run that fails leaves OUT
    /// unchanged.
    #[arg(short, long = "output", value_name = "OUT", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Print on standard error how much was saved
    #[arg(long, help_heading = "Output")]
    stats: bool,

    #[command(flatten)]
    bounds: Bounds,
}

impl PruneArgs {
    fn program(&self) -> Result<PruneProgram, Error> {
        let mut prune = PruneSpec::new()
            .count_tokens(self.count_tokens)
            .stop_at_summary(self.stop_at_summary)
            .keep_head(self.keep_head.unwrap_or(0))
            .keep_tail(self.keep_tail.unwrap_or(0))
            .protect_tokens(self.protect_tokens.unwrap_or(0))
            .minimum_tokens(self.minimum_tokens.unwrap_or(0))
            .min_gain(self.min_gain.unwrap_or(0))
            .only_shorter(self.only_shorter);
        if self.no_default_protect {
            prune = prune.protected([""; 0]);
        }
        prune = self.protect.iter().fold(prune, PruneSpec::protect);
        if let Some(turns) = self.keep_turns {
            prune = prune.keep_turns(turns);
        }
        if let Some(text) = &self.placeholder {
            prune = prune.placeholder(text);
        }
        if let Some(now) = self.now {
            prune = prune.now(now);
        }
        Ok(PruneProgram::compile(&prune)?.with_limits(self.bounds.limits()))
    }
}

/// The advice if more than one document follows.
pub(crate) const ONE_CHAT: &str =
    "(one message for each line? `jq -s . FILE` makes one array of them)";

/// Runs `tamis prune`.
pub(crate) fn run(args: &PruneArgs) -> Exit {
    let console = Console::default();
    let program = match args.program() {
        Ok(program) => program,
        Err(error) => return console.refuse(&Usage::from(&error)),
    };
    let input = Place::from(args.file.clone());
    let output = args.output.clone().map_or(Place::Standard, Place::from);
    let report_to = args.report.clone().map(Place::from);
    let all = Places {
        input: Some(&input),
        output: Some(&output),
        report: report_to.as_ref(),
        ..Places::default()
    };
    if let Err(usage) = conflicts::check(&all) {
        return console.refuse(&usage);
    }
    let report_file = match ReportFile::open(&console, report_to.as_ref()) {
        Ok(file) => file,
        Err(exit) => return exit,
    };
    let (tally_in, tally_out) = (Tally::new(args.stats), Tally::new(args.stats));
    let head = Head::default();
    let (report, result) = prune(&program, &input, &output, &tally_in, &tally_out, &head);
    let mut exit = Exit::Done;
    if let Err((place, error)) = &result
        && !is_closed_pipe(error)
    {
        let hinted = Hinted { error, documents: ONE_CHAT, has_limits: true };
        match head.advice().filter(|_| head::explains(error)) {
            Some(advice) => console.say(place, advised(hinted, advice)),
            None => console.say(place, hinted),
        }
        exit = Exit::Failed;
    }
    if let Some(words) = nothing_found(&report).filter(|_| result.is_ok()) {
        console.warn(&input.name("standard input"), words);
    }
    if let Some(file) = report_file
        && let Err(exit) = file.write(&console, &report)
    {
        return exit;
    }
    if args.stats && result.is_ok() {
        let bytes = [report.bytes, report.bytes.saturating_add_signed(-report.bytes_saved)];
        let [before, after] = bytes;
        let tokens = [tally_in.first(before), tally_out.first(after)];
        let saved = saved(bytes, tokens);
        console.note(format_args!("{saved}; {}", stats(&report)));
    }
    exit
}

/// Prunes the input into the output. An error has the name of the file or stream that it is about.
fn prune(
    program: &PruneProgram,
    input: &Place,
    output: &Place,
    tally_in: &Tally,
    tally_out: &Tally,
    head: &Head,
) -> (PruneReport, Result<(), (String, Error)>) {
    let to = output.name("standard output");
    let from = input.name("standard input");
    let (mut file, mut writer) = match open(input, output) {
        Ok(opened) => opened,
        Err(error) => {
            let mut report = PruneReport::default();
            report.error = Some(FailureReport::from(&error));
            let about = if error.kind() == ErrorKind::Write { to } else { from };
            return (report, Err((about, error)));
        }
    };
    let is_compressed = files::is_regular(&file) && gzip::is_compressed(&mut file).unwrap_or(false);
    let size = file.metadata().ok().filter(|metadata| metadata.is_file()).map(|file| file.len());
    let to_terminal = *output == Place::Standard && std::io::stdout().is_terminal();
    // The length of a compressed file is not that of the text.
    let bar = Bar::new(size.filter(|_| !is_compressed), to_terminal);
    let around = |reader| tally_in.around(head.around(Box::new(Decoded::new(bar.around(reader)))));
    let (mut report, result) = match WatchedFile::new(file, around) {
        // The second reading of a file would not be decoded.
        Ok(file) => FailedRun::split(match is_compressed {
            true => prune_reader(program, file, tally_out.through(&mut writer)),
            false => prune_file(program, file, tally_out.through(&mut writer)),
        }),
        Err(error) => (PruneReport::default(), Err(Error::read(error))),
    };
    let result = result.and_then(|()| writer.finish().map_err(Error::write));
    if let Err(error) = &result {
        report.error.get_or_insert_with(|| FailureReport::from(error));
    }
    let blame = |error: Error| (if error.kind() == ErrorKind::Write { to } else { from }, error);
    (report, result.map_err(blame))
}

fn open(input: &Place, output: &Place) -> Result<(File, Output), Error> {
    let file = files::open(input).map_err(|error| match input {
        Place::Path(path) => Error::read(habits::explained(path, error)),
        Place::Standard => Error::read(error),
    })?;
    Ok((file, Output::open(output).map_err(Error::write)?))
}

/// Says that no tool result was recognised, unless there are results, or no messages.
pub(crate) fn nothing_found(report: &PruneReport) -> Option<String> {
    if !report.has_history {
        return Some("no chat: expected an array of messages, or an object with one, such as `messages`; tamis help history has the names".to_owned());
    }
    let messages = report.messages;
    if report.results > 0 || messages == 0 {
        return None;
    }
    let s = if messages == 1 { "" } else { "s" };
    Some(format!(
        "no tool result was recognised in {messages} message{s}, so nothing is pruned; tamis help history has the forms"
    ))
}

/// Describes what was pruned, for `--stats`.
fn stats(report: &PruneReport) -> String {
    let PruneReport { results, results_pruned, results_protected, results_compacted, .. } = *report;
    let mut text = format!("{results_pruned} of {results} results pruned");
    if results_protected > 0 {
        text += &format!(", {results_protected} protected");
    }
    if results_compacted > 0 {
        text += &format!(", {results_compacted} pruned before");
    }
    if let Some(first) = report.first_changed {
        text += &format!("; unchanged up to byte {first}");
    }
    if let Some(refused) = report.refused {
        text += &format!("; refused by --{}", refused.as_str().replace('_', "-"));
    }
    text
}
