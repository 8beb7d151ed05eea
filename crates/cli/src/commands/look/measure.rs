//! Reads the files of `tamis look`, and measures them before and after a filter.
//!
//! Each file is read once. A chat is recognised by what pruning recognises in it, so that documents which may be one are
//! measured in both ways at the same time.

use std::io::Read;

use serde::Serialize;
use tamis::{CallOptions, Error, Filter, KeptParts, Limits, Program, Sink};
use tamis_chat::{ChatScan, ChatSizes, PruneProgram, PruneSpec};
use tamis_command::{CommandFilter, CommandLine};
use tamis_insight::look::{FilterFigures, LineLook, Look, LookOptions, LookTree, look_chat};

use super::args::LookArgs;
use super::documents::{BadLineCount, CHUNK, DocumentSink, FailedInput, read_documents};
use super::fates;
use super::tools::{self, LONGEST_LIST, ToolCosts};
use crate::commands::prune::{ONE_CHAT, nothing_found};
use crate::console::progress::Bar;
use crate::console::remedies::Hinted;
use crate::console::{Console, Exit, Usage};
use crate::files;
use crate::files::gzip::Decoded;
use crate::files::place::Place;
use crate::filters::command_rules;
use crate::flags::groups::Selection;
use crate::flags::habits;
use crate::job::resolve;

/// The figures of the inputs, by their kind.
#[derive(Debug)]
pub(super) enum Figures {
    /// Documents, a chat or lines.
    Tree(Box<Measured>),
    /// A list of the tools of an MCP server.
    Tools(ToolCosts),
}

impl From<Measured> for Figures {
    fn from(measured: Measured) -> Self {
        Self::Tree(Box::new(measured))
    }
}

/// The figures of all inputs.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) before: LookTree,
    /// The output of the filter.
    pub(super) after: Option<LookTree>,
    /// Number of documents, messages or lines.
    pub(super) documents: u64,
    /// Bytes of all inputs, with white space.
    pub(super) read: u64,
    /// The messages of a chat.
    pub(super) messages: Vec<Message>,
    /// The filter of a command.
    pub(super) filter: Option<String>,
    /// The parts of one document that a budget kept, by the reason why.
    pub(super) kept: Vec<KeptParts>,
    /// The figures of a filter, for a page.
    pub(super) figures: Option<FilterFigures>,
    /// A warning about a chat in which nothing was recognised.
    pub(super) warning: Option<String>,
}

/// A message of a chat.
#[derive(Debug, Serialize)]
pub(super) struct Message {
    /// Its position in the chat, from 0.
    pub(super) number: usize,
    pub(super) role: &'static str,
    pub(super) bytes: u64,
    /// Bytes of tool results in it.
    pub(super) results: u64,
    /// Bytes that pruning would remove.
    pub(super) removed: u64,
}

/// The output of a filter. It may be a text, such as a summary.
struct FilteredLook {
    look: Look,
    failed: bool,
    lines: LineLook,
}

impl Sink for FilteredLook {
    fn write(&mut self, bytes: &[u8]) {
        self.failed = self.failed || self.look.write(bytes).is_err();
        self.lines.write(bytes);
    }
}

impl FilteredLook {
    fn new(options: &LookOptions) -> Self {
        Self { look: Look::new(options), failed: false, lines: LineLook::new() }
    }

    fn end_document(&mut self) {
        self.failed = self.failed || self.look.end().is_err();
    }

    fn into_tree(self) -> LookTree {
        if self.failed { self.lines.into_tree() } else { self.look.into_tree() }
    }
}

/// Receives the lines that a filter of commands keeps.
struct Kept(LineLook);

impl Sink for Kept {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }
}

/// Measures all inputs. Prints what is wrong, and returns the exit code then.
pub(super) fn measure(args: &LookArgs, console: &Console) -> Result<Figures, Exit> {
    if let Some(command) = &args.command {
        return command_output(args, command, console).map(Figures::from);
    }
    let usage = |usage: Usage| console.refuse(&usage);
    let selected = resolve::select(&args.selection).map_err(usage)?;
    let filter = match has_rules(args) {
        true => Some(selected.program().map_err(|error| usage(Usage::from(&error)))?),
        false => None,
    };
    let limits = selected.options.limits().clone();
    let options = LookOptions::new().with_limits(limits).with_exact(args.exact);
    let mut run = Documents::new(args, &options, filter.as_ref(), &selected.options);
    for file in &args.files {
        let place = Place::from(file.clone());
        let name = place.name("standard input");
        let said = |error: Error| console.fail(&name, hinted(&error, args.chat));
        let input = files::open(&place)
            .map_err(|error| said(Error::read(habits::explained(file, error))))?;
        let size = input.metadata().ok().filter(std::fs::Metadata::is_file).map(|file| file.len());
        let bar = Bar::new(size, false);
        let mut reader: Box<dyn Read> = Box::new(Decoded::new(bar.around(Box::new(input))));
        let mut first = vec![0; CHUNK];
        let length = fill(&mut reader, &mut first).map_err(|error| said(Error::read(error)))?;
        first.truncate(length);
        if args.files.len() == 1 && !args.chat && !args.ndjson && is_text(&first) {
            if filter.is_some() || args.exact {
                let flags = if args.exact { "--exact is" } else { "the rules of a filter are" };
                console.say(&name, format_args!("expected JSON, found text, and {flags} for JSON"));
                return Err(Exit::Failed);
            }
            return lines(None, &mut first.as_slice().chain(reader))
                .map(Figures::from)
                .map_err(said);
        }
        let one = args.files.len() == 1 && !args.ndjson;
        let is_plain = !args.chat && filter.is_none() && args.html.is_none() && args.svg.is_none();
        if one && is_plain && tools::may_be_tools(&first) {
            let read = reader.by_ref().take(LONGEST_LIST).read_to_end(&mut first);
            read.map_err(|error| said(Error::read(error)))?;
            if let Some(costs) = tools::tool_costs(&first) {
                return Ok(Figures::Tools(costs));
            }
        }
        if args.chat || (one && may_be_chat(&first)) {
            let program = PruneProgram::compile(&PruneSpec::new()).map_err(said)?;
            run.chat = Some(ChatScan::new(&program));
        }
        let mut input = first.as_slice().chain(reader);
        let bad =
            read_documents(&mut input, args.ndjson, true, &mut run).map_err(
                |failed| match failed {
                    FailedInput { error, line: None } => said(error),
                    FailedInput { error, line: Some(line) } => {
                        console.fail(&name, format_args!("line {line}: {}", hinted(&error, false)))
                    }
                },
            )?;
        if bad.count > 0 {
            let (s, are) = if bad.count == 1 { ("", "is") } else { ("s", "are") };
            let BadLineCount { count, first, is_all } = bad;
            if is_all {
                return Err(console.fail(&name, "no line is a JSON document"));
            }
            let message =
                format!("{count} line{s} {are} not JSON, the first of them line {first}: left out");
            console.warn(&name, message);
        }
    }
    let name = args
        .files
        .first()
        .map_or_else(String::new, |file| Place::from(file.clone()).name("standard input"));
    let mut measured = run.end().map_err(|error| console.fail(&name, error))?;
    if let Some(words) = measured.warning.take() {
        console.warn(&name, words);
    }
    if let Some(program) = filter.as_ref().filter(|_| args.html.is_some()) {
        let call = program.with_options(&selected.options);
        measured.figures = Some(fates::figures(args, program, call));
    }
    Ok(Figures::from(measured))
}

pub(super) fn hinted(error: &Error, is_chat: bool) -> Hinted<'_> {
    let documents = match is_chat {
        true => ONE_CHAT,
        false => "(more than one document? try --ndjson for one per line)",
    };
    Hinted { error, documents, has_limits: true }
}

/// Whether the flags have rules, so that there is something to compare.
pub(super) fn has_rules(args: &LookArgs) -> bool {
    // Every flag is named, so that a new one cannot be forgotten.
    let Selection {
        manifest,
        tool,
        level: _,
        extract,
        select,
        exclude,
        omit,
        requires,
        redact,
        retain,
        patch,
        siblings,
        conditions,
        max_items,
        drop_nulls,
        drop_empty,
        factor,
        budget,
        budget_tokens,
        on_error: _,
        is_error: _,
        raw: _,
        service: _,
        root: _,
        on_kind: _,
        lenient_remove: _,
        stop_early: _,
        min_items: _,
        omitted: _,
        on_over: _,
        prefer: _,
        validation: _,
        duplicate_keys: _,
        whitespace: _,
        item: _,
        bounds: _,
    } = &args.selection;
    let lists = [select, exclude, omit, requires, redact, retain];
    let files = [manifest, patch];
    let is_set = [
        !conditions.is_empty(),
        tool.is_some(),
        extract.is_some(),
        max_items.is_some(),
        budget.is_some(),
        budget_tokens.is_some(),
        siblings.is_some(),
        *drop_nulls,
        *drop_empty,
        *factor,
    ];
    lists.iter().any(|list| !list.is_empty())
        || files.iter().any(|list| !list.is_empty())
        || is_set.contains(&true)
}

/// Reads until the buffer is full or the input ends.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        let free = buffer.get_mut(length..).unwrap_or_default();
        match reader.read(free) {
            Ok(0) => return Ok(length),
            Ok(count) => length += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether an input is text, by its first bytes: they do not begin a value of JSON, or more text follows a number or a
/// word, as in the lines of a log.
fn is_text(first: &[u8]) -> bool {
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
    match text.split_first() {
        None | Some((b'{' | b'"', _)) => false,
        Some((b'[', inside)) => {
            let inside = inside.trim_ascii_start();
            let scalar = scalar(inside);
            let rest = inside.get(scalar.len()..).unwrap_or_default().trim_ascii_start();
            let is_array = matches!(inside.first(), None | Some(b'{' | b'[' | b']' | b'"'))
                || (is_scalar(scalar) && matches!(rest.first(), None | Some(b',' | b']')));
            !is_array
        }
        Some(_) => {
            let scalar = scalar(text);
            let line =
                text.get(scalar.len()..).and_then(|rest| rest.split(|byte| *byte == b'\n').next());
            !is_scalar(scalar) || !line.unwrap_or_default().trim_ascii().is_empty()
        }
    }
}

/// Returns the bytes up to the next white space, comma or bracket.
fn scalar(text: &[u8]) -> &[u8] {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b']');
    let end = text.iter().position(ends).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

/// Whether bytes are a number or a word of JSON.
fn is_scalar(bytes: &[u8]) -> bool {
    let is_number = |text: &str| {
        let first = text.strip_prefix('-').unwrap_or(text).as_bytes().first();
        first.is_some_and(u8::is_ascii_digit) && text.parse::<f64>().is_ok()
    };
    matches!(bytes, b"true" | b"false" | b"null") || std::str::from_utf8(bytes).is_ok_and(is_number)
}

/// Whether a document may be a chat: it has roles and messages, or calls, near its beginning.
fn may_be_chat(first: &[u8]) -> bool {
    let has = |name: &[u8]| first.windows(name.len()).any(|window| window == name);
    (has(b"\"role\"") && (has(b"\"content\"") || has(b"\"parts\"")))
        || has(b"\"call_id\"")
        || has(b"\"tool_call_id\"")
}

/// One run over documents.
struct Documents<'a> {
    /// The input is said to be a chat, so that errors of the chat are those of the run.
    is_chat: bool,
    look: Look,
    filter: Option<Filter<FilteredLook>>,
    chat: Option<ChatScan>,
    documents: u64,
    /// The parts of the last document that a budget kept.
    kept: Vec<KeptParts>,
    options: &'a LookOptions,
}

impl<'a> Documents<'a> {
    fn new(
        args: &LookArgs,
        options: &'a LookOptions,
        filter: Option<&Program>,
        call: &CallOptions,
    ) -> Self {
        let filter = filter
            .map(|program| Filter::new(program.with_options(call), FilteredLook::new(options)));
        Self {
            is_chat: args.chat,
            look: Look::new(options),
            filter,
            chat: None,
            documents: 0,
            kept: Vec::new(),
            options,
        }
    }
}

impl DocumentSink for Documents<'_> {
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.look.write(chunk)?;
        if let Some(filter) = self.filter.as_mut().filter(|filter| !filter.is_done()) {
            filter.write(chunk)?;
        }
        if let Some(chat) = &mut self.chat
            && let Err(error) = chat.write(chunk)
        {
            self.chat = None;
            // A document that only looks like a chat may exceed the limits of one.
            return if self.is_chat { Err(error) } else { Ok(()) };
        }
        Ok(())
    }

    fn end_document(&mut self) -> Result<(), Error> {
        self.look.end()?;
        self.documents += 1;
        if let Some(filter) = &mut self.filter {
            filter.end()?;
            let cuts = filter.report().budget_cuts;
            self.kept = cuts.map(|cuts| cuts.kept).unwrap_or_default();
            filter.sink_mut().end_document();
            filter.restart();
        }
        Ok(())
    }
}

impl Documents<'_> {
    fn end(self) -> Result<Measured, Error> {
        let Self { look, filter, chat, documents, kept, options, is_chat } = self;
        let read = look.bytes_read();
        let sizes = match chat.map(ChatScan::end) {
            Some(Err(error)) if is_chat => return Err(error),
            sizes => sizes.and_then(Result::ok),
        };
        if let Some(sizes) = sizes
            && (is_chat || (filter.is_none() && !options.exact() && has_turns(&sizes)))
        {
            let warning = nothing_found(&sizes.report).filter(|_| is_chat);
            return Ok(Measured { warning, ..of_chat(&sizes, read) });
        }
        Ok(Measured {
            before: look.into_tree(),
            after: filter.map(|filter| filter.into_sink().into_tree()),
            documents,
            read,
            messages: Vec::new(),
            filter: None,
            kept: if documents == 1 { kept } else { Vec::new() },
            figures: None,
            warning: None,
        })
    }
}

/// Whether a document is a chat.
fn has_turns(sizes: &ChatSizes) -> bool {
    sizes.report.results > 0 || sizes.report.user_turns > 0
}

fn of_chat(sizes: &ChatSizes, read: u64) -> Measured {
    let [before, after] = look_chat(sizes);
    let figures = Some(FilterFigures::of_trees("tamis prune", &before, &after));
    let messages = sizes.messages.iter().enumerate().map(|(number, message)| Message {
        number,
        role: message.role,
        bytes: message.bytes,
        results: message.results,
        removed: message.removed,
    });
    Measured {
        before,
        after: Some(after),
        documents: sizes.report.messages,
        read,
        messages: messages.collect(),
        filter: None,
        kept: Vec::new(),
        figures,
        warning: None,
    }
}

/// Measures the output of a command.
fn command_output(args: &LookArgs, command: &str, console: &Console) -> Result<Measured, Exit> {
    let registry = command_rules::registry(&args.selection.manifest).map_err(|error| {
        command_rules::print_problems(console, &error);
        Exit::Usage
    })?;
    let place = Place::from(args.files.first().cloned().unwrap_or_default());
    let name = place.name("standard input");
    let said = |error: Error| console.fail(&name, error);
    let mut reader = files::open(&place).map_err(|error| said(Error::read(error)))?;
    let line = CommandLine::parse(command);
    let filter = registry.start(&line, &Limits::new(), Kept(LineLook::new()));
    lines(Some(filter), &mut reader).map_err(said)
}

/// Measures lines of text, and what a filter leaves of them.
fn lines(
    mut filter: Option<CommandFilter<Kept>>,
    reader: &mut impl Read,
) -> Result<Measured, Error> {
    let mut before = LineLook::new();
    let mut read = 0;
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::read(error)),
        };
        let chunk = buffer.get(..count).unwrap_or_default();
        read += count as u64;
        before.write(chunk);
        if let Some(filter) = &mut filter {
            filter.write(chunk)?;
        }
    }
    let name = filter.as_ref().and_then(|filter| filter.filter().map(str::to_owned));
    let after = match filter {
        Some(mut filter) => {
            filter.end()?;
            Some(filter.into_sink().0.into_tree())
        }
        None => None,
    };
    let before = before.into_tree();
    let documents = before.node(0).map_or(0, |root| root.count());
    let figures = name
        .as_deref()
        .zip(after.as_ref())
        .map(|(name, after)| FilterFigures::of_trees(name, &before, after));
    let (messages, kept, warning) = (Vec::new(), Vec::new(), None);
    Ok(Measured { before, after, documents, read, messages, filter: name, kept, figures, warning })
}
