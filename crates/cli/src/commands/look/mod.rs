//! `tamis look`: shows where the tokens of documents, chats and outputs of commands are.
//!
//! `args.rs` has the flags, `documents.rs` reads the files, `measure.rs` measures them, `table.rs` prints the tree.
//! `fates.rs` says for a page what each rule leaves out. `secrets.rs` looks for credentials instead, and `tools.rs`
//! counts what a list of tools costs.

mod args;
mod documents;
mod fates;
mod measure;
mod secrets;
mod table;
mod tools;

pub(crate) use args::{HELP, HELP_SHORT, LookArgs};

use std::path::{Path, PathBuf};

use serde::Serialize;
use tamis::KeptParts;
use tamis_insight::look::{LookPage, LookTree, to_page, to_svg};

use crate::console::print::{self, print};
use crate::console::{Console, Exit, Usage};
use crate::files::page::write_page;
use crate::files::place::{called, read_once};
use measure::{Figures, Measured, Message};
use table::Shown;

/// Runs `tamis look`.
pub(crate) fn run(args: &LookArgs) -> Exit {
    let console = Console::default();
    if let Err(usage) = check(args) {
        return console.refuse(&usage);
    }
    if args.secrets {
        return secrets::run(args, &console);
    }
    let measured = match measure::measure(args, &console) {
        Ok(Figures::Tree(measured)) => measured,
        Ok(Figures::Tools(costs)) if args.json => {
            return match print::json(&costs) {
                Ok(text) => print(&text),
                Err(error) => console.fail("look", error),
            };
        }
        Ok(Figures::Tools(costs)) => return print(costs.to_string().as_bytes()),
        Err(exit) => return exit,
    };
    let title = title(&args.files);
    let Measured { before, after, .. } = &*measured;
    let page = || {
        let page = LookPage::new(&title, before);
        let page = after.as_ref().map_or(page, |after| page.with_after(after));
        to_page(&measured.figures.as_ref().map_or(page, |figures| page.with_filter(figures)))
    };
    if let Some(exit) = write_page(&console, args.html.as_deref(), page) {
        return exit;
    }
    let svg = || to_svg(&title, before, after.as_ref());
    if let Some(exit) = write_page(&console, args.svg.as_deref(), svg) {
        return exit;
    }
    if [&args.html, &args.svg].into_iter().flatten().any(|path| is_standard(path)) {
        return Exit::Done;
    }
    if args.json {
        return match json(&measured) {
            Ok(text) => print(&text),
            Err(error) => console.fail("look", error),
        };
    }
    let limit = |value: Option<u64>, default: usize| match value {
        None => default,
        Some(0) => usize::MAX,
        Some(value) => usize::try_from(value).unwrap_or(usize::MAX),
    };
    let shown = Shown {
        title: &title,
        measured: &measured,
        depth: args.depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX)),
        top: limit(args.top, 20),
    };
    print(shown.to_string().as_bytes())
}

/// Refuses combinations of flags that make no sense.
fn check(args: &LookArgs) -> Result<(), Usage> {
    read_once(args.files.iter().chain(&args.selection.manifest).chain(&args.selection.patch))?;
    let outputs = [("--html", &args.html), ("--svg", &args.svg)];
    for (flag, path) in outputs.iter().filter_map(|(flag, path)| Some((*flag, path.as_ref()?))) {
        let same = |other: &&PathBuf| match (path.canonicalize(), other.canonicalize()) {
            (Ok(path), Ok(other)) => path == other,
            _ => false,
        };
        if let Some(file) = args.files.iter().chain(&args.selection.manifest).find(same) {
            return Err(Usage::new(format!(
                "{flag} and {} are the same file; give {flag} another path",
                called(file)
            )));
        }
    }
    let is_printed = |path: &Option<PathBuf>| path.as_deref().is_some_and(is_standard);
    if let Some((flag, _)) = outputs.iter().find(|(_, path)| args.json && is_printed(path)) {
        return Err(Usage::new(format!("--json and {flag} - both write to standard output")));
    }
    if args.html.is_some() && args.html == args.svg {
        return Err(Usage::new("--html and --svg are the same file; give --svg another path"));
    }
    if (args.chat || args.command.is_some()) && args.files.len() > 1 {
        let flag = if args.chat { "--chat" } else { "--command" };
        return Err(Usage::new(format!("{flag} needs one input, found {}", args.files.len())));
    }
    Ok(())
}

/// Whether an output is standard output, which then has no table.
fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns the title of pages: the names of the first files.
fn title(files: &[PathBuf]) -> String {
    let name = |path: &PathBuf| match path.file_name() {
        Some(name) if path.as_os_str() != "-" => name.to_string_lossy().into_owned(),
        _ => called(path),
    };
    let names: Vec<String> = files.iter().take(3).map(name).collect();
    let more = files.len().saturating_sub(names.len());
    let names = names.join(", ");
    if more > 0 { format!("{names} and {more} more") } else { names }
}

/// The output of `--json`.
#[derive(Serialize)]
struct Json<'a> {
    version: u32,
    /// Number of documents, messages or lines.
    documents: u64,
    bytes_read: u64,
    before: &'a LookTree,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a LookTree>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    messages: &'a [Message],
    /// The parts that a budget kept, by the reason why.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    kept: &'a [KeptParts],
}

fn json(measured: &Measured) -> std::io::Result<Vec<u8>> {
    let value = Json {
        version: 1,
        documents: measured.documents,
        bytes_read: measured.read,
        before: &measured.before,
        after: measured.after.as_ref(),
        messages: &measured.messages,
        kept: &measured.kept,
    };
    print::json(&value)
}
