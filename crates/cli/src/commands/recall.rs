//! `tamis recall`: prints a stored result, or a part of it.
//!
//! This module must not depend on how results are stored.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tamis::{Error, Sink as _, WriteSink};
use tamis_store::{EntryKind, EntryMeta, Scope, Store, StoreConfig, Window, WindowError};

use crate::console::print::is_closed_pipe;
use crate::console::{Console, Exit, Usage};
use crate::files;
use crate::files::place::Place;
use crate::flags::lists;

pub(crate) const HELP_SHORT: &str = "\
For more and for examples see --help.";

pub(crate) const HELP: &str = "\
Examples:
  tamis recall tm_aaaqeayeaudaocajbifqydiob4
  tamis recall tm_aaaqeayeaudaocajbifqydiob4 --grep 'error|warning' --context 3
  tamis recall tm_aaaqeayeaudaocajbifqydiob4 --lines 100-180
  tamis recall tm_aaaqeayeaudaocajbifqydiob4 --items 25-49 --select id,title
  tamis recall tm_aaaqeayeaudaocajbifqydiob4 --pointer /issues/3/body --limit all > body.md

The parts apply in this order: pointer, items and select, lines, grep, offset and limit. Where results are kept, and for
how long: tamis help recalling.

Exit codes: 0 done, 1 the handle is unknown or the result has no such part, 2 the command line is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct RecallArgs {
    /// The handle of the result, as a notice names it: `tm_` and 26 characters
    #[arg(value_name = "HANDLE", required_unless_present = "last")]
    handle: Option<String>,

    /// The last output of a command that was saved, instead of a handle
    #[arg(long, conflicts_with = "handle")]
    last: bool,

    #[command(flatten)]
    window: WindowArgs,

    /// The folder of the store
    ///
    /// Default: `store` in $TAMIS_STATE_DIR, else in $XDG_STATE_HOME/tamis, else in ~/.local/state/tamis.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
}

/// The part to print.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct WindowArgs {
    /// The value to print: a JSON Pointer or a dot path; a string is printed as its characters
    #[arg(long, value_name = "PATH", help_heading = "Parts of JSON")]
    pointer: Option<String>,

    /// Print only these items, counted from 0: `25-49`, `25-` or `25`
    ///
    /// The items are those of the result, or the elements of the array at --pointer.
    #[arg(long, value_name = "RANGE", help_heading = "Parts of JSON")]
    items: Option<String>,

    /// Keep only these values of each item; may be repeated
    #[arg(long, value_name = "[KEY=]PATH,...", help_heading = "Parts of JSON")]
    select: Vec<String>,

    /// Print only these lines, counted from 1: `100-180`, `100-` or `100`
    ///
    /// The lines of JSON are those of its indented form, or of the string at --pointer.
    #[arg(long, value_name = "RANGE", help_heading = "Parts of text")]
    lines: Option<String>,

    /// Print only lines that match a regular expression, with their numbers
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true, help_heading = "Parts of text")]
    grep: Option<String>,

    /// Print N lines before and after each match, too
    #[arg(long, value_name = "N", requires = "grep", help_heading = "Parts of text")]
    context: Option<u32>,

    /// Skip the first BYTES bytes (k, M, G: powers of 1024)
    #[arg(long, value_name = "BYTES", value_parser = lists::bytes)]
    offset: Option<u64>,

    /// Print at most BYTES bytes (k, M, G: powers of 1024), or `all` [default: 16k]
    #[arg(long, value_name = "BYTES|all", value_parser = limit)]
    limit: Option<Limit>,
}

/// The value of `--limit`.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<u64>);

fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "all" => Ok(Limit(None)),
        text => {
            lists::bytes(text).map(|bytes| Limit(Some(bytes))).map_err(|error| error.to_string())
        }
    }
}

/// Runs `tamis recall`.
pub(crate) fn run(args: &RecallArgs) -> Exit {
    let console = Console::default();
    let window = match window(&args.window) {
        Ok(window) => window,
        Err(error) => return console.refuse(&Usage::new(format!("--{error}"))),
    };
    let config = args.store.clone().map(StoreConfig::folder).or_else(StoreConfig::of_user);
    let Some(config) = config else {
        console.usage(&Usage::new("no home folder; name the folder of the store with --store"));
        return Exit::Usage;
    };
    match &args.handle {
        // Handles begin with `tm_`.
        Some(handle) if ["last", "latest"].contains(&handle.as_str()) => console
            .refuse(&Usage::new(format!("{handle} is not a handle; write tamis recall --last"))),
        Some(handle) => print(config, handle, &window),
        None => print_latest(config, &window),
    }
}

/// Prints a window of an entry.
fn print(config: StoreConfig, handle: &str, window: &Window) -> Exit {
    let console = Console::default();
    let name = handle.escape_debug().to_string();
    let output = match files::Output::open(&Place::Standard) {
        Ok(output) => output,
        Err(error) => return console.fail("standard output", Error::write(error)),
    };
    let mut sink = WriteSink::new(output);
    let report = Store::open(config).read(&Scope::user(), handle, window, &mut sink);
    // A JSON text ends its line, as in the output of `tamis filter`. A page of one must join with the next.
    if report
        .as_ref()
        .is_ok_and(|report| report.kind == EntryKind::Json && report.next_offset.is_none())
    {
        sink.write(b"\n");
    }
    let written = sink.flush();
    let report = match report {
        Ok(report) => report,
        Err(error) => return console.fail(&name, error),
    };
    if let Err(error) = written {
        if is_closed_pipe(&error) {
            return Exit::Done;
        }
        return console.fail("standard output", error);
    }
    if let Some(remark) = report.remark() {
        console.note(format_args!("{name}: {}", in_flags(remark)));
    }
    Exit::Done
}

/// Prints a part of the last full output of a command: `tamis run --last`.
pub(crate) fn print_last(
    lines: Option<&String>,
    grep: Option<&String>,
    context: Option<u32>,
) -> Exit {
    let console = Console::default();
    let Some(config) = StoreConfig::of_user() else {
        console.usage(&Usage::new("--last: no home folder; set TAMIS_STATE_DIR"));
        return Exit::Usage;
    };
    let part = WindowArgs {
        lines: lines.cloned(),
        grep: grep.cloned(),
        context,
        limit: Some(Limit(None)),
        ..WindowArgs::default()
    };
    match window(&part) {
        Ok(window) => print_latest(config, &window),
        Err(error) => console.refuse(&Usage::new(format!("--{error}"))),
    }
}

/// Prints a part of the last full output of a command.
fn print_latest(config: StoreConfig, window: &Window) -> Exit {
    let console = Console::default();
    let latest = Store::open(config.clone()).latest_command_at(&Scope::user());
    let time = latest.as_ref().ok().and_then(Option::as_ref).map(|(_, time)| *time);
    // Where the store cannot be read, there may still be one.
    if let Some(file) = in_sandboxes(time) {
        return print_file(&file, window);
    }
    match latest {
        Err(error) => console.fail("recall", error),
        Ok(Some((handle, _))) => print(config, &handle.to_string(), window),
        Ok(None) => {
            console.say(
                "recall",
                "no full output is stored; commands keep it if lines are left out, or with --keep",
            );
            Exit::Failed
        }
    }
}

/// Returns the last full output of a sandbox, if it is newer than that of the store.
#[cfg(unix)]
fn in_sandboxes(stored: Option<SystemTime>) -> Option<PathBuf> {
    let (file, written) = tamis_agents::recorder::latest_in_sandboxes()?;
    stored.is_none_or(|stored| written > stored).then_some(file)
}

/// Sandboxes are those of Unix.
#[cfg(not(unix))]
fn in_sandboxes(_stored: Option<SystemTime>) -> Option<PathBuf> {
    None
}

/// Prints a window of a file, by way of a store for it.
fn print_file(file: &Path, window: &Window) -> Exit {
    let console = Console::default();
    let name = file.display().to_string();
    let copied = || {
        let folder = tempfile::tempdir()?;
        // A store creates its folder for this user only. That of a temporary folder depends on the umask.
        let config = StoreConfig::folder(folder.path().join("store"));
        let meta = EntryMeta::command(&name);
        let mut writer = Store::open(config.clone()).begin(Scope::user(), meta)?;
        io::copy(&mut File::open(file)?, &mut writer)?;
        let handle = writer.finish()?;
        io::Result::Ok((folder, config, handle))
    };
    match copied() {
        Ok((_folder, config, handle)) => print(config, &handle.to_string(), window),
        Err(error) => console.fail(&name, error),
    }
}

/// A remark speaks of `offset=N`; the flag is `--offset N`.
fn in_flags(remark: &str) -> String {
    remark.replace("offset=", "--offset ")
}

/// Returns the window that the flags describe.
fn window(args: &WindowArgs) -> Result<Window, WindowError> {
    let mut window = Window::new();
    if let Some(pointer) = &args.pointer {
        window = window.with_pointer(pointer)?;
    }
    if let Some(items) = &args.items {
        window = window.with_items(items)?;
    }
    for source in args.select.iter().flat_map(|list| lists::split(list)) {
        window = match lists::key_and_path(source) {
            (Some(key), path) => window.with_select_as(key, path)?,
            (None, path) => window.with_select(path)?,
        };
    }
    if let Some(lines) = &args.lines {
        window = window.with_lines(lines)?;
    }
    if let Some(pattern) = &args.grep {
        window = window.with_grep(pattern)?;
    }
    if let Some(context) = args.context {
        window = window.with_context(context)?;
    }
    if let Some(Limit(bytes)) = args.limit {
        window = window.with_limit(bytes);
    }
    Ok(window.with_offset(args.offset.unwrap_or(0)))
}
