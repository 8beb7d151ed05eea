//! tamis filters tool output: JSON goes in as it arrives, what was declared comes out, the rest is dropped.
//!
//! A tool answers with far more than a language model needs. A [`Spec`] says what to keep (`select`, `exclude`, `retain`,
//! `max_items`, drops); a [`Program`] is a spec, compiled once; a [`Filter`] applies it to one document while its bytes
//! arrive, without building a tree. Memory does not grow with the document, every kept byte leaves as it came, and a
//! [`Report`] says what was cut.
//!
//! ```
//! use tamis::{Program, Spec, filter_slice};
//!
//! let spec = Spec::new().select("id").select_as("login", "owner.login").max_items(1);
//! let program = Program::compile(&spec)?;
//! let document = br#"{"total": 2, "items": [
//!     {"id": 7, "node_id": "R_1", "owner": {"login": "mira", "id": 1.10}},
//!     {"id": 8, "node_id": "R_2", "owner": {"login": "sol", "id": 2}}]}"#;
//! let (output, report) = filter_slice(&program, document)?;
//! assert_eq!(output, br#"{"total":2,"items":[{"id":7,"login":"mira"}]}"#);
//! assert_eq!(report.filter_items_truncated_from, Some(2));
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! # The flow
//!
//! ```text
//! chunk ─▶ scan ──masks──▶ machine ──event──▶ stage ──▶ writer ──▶ Sink ─▶ driver
//!          Carry           partial token,  ◀─Interest─  │  path::Trie (node per level)
//!                          level bits                   └─ hold ──(decided)──▶ replay | pass
//! Manifest ─▶ Spec ─▶ Program (+ plan) ── Arc ──▶ many Filters   Meter charges every held byte
//! ```
//!
//! - **scan** turns blocks of 64 bytes into masks; what crosses them is in a carry. It knows no grammar.
//! - **json** walks the tokens, validates, and asks its handler for an interest in each value: skip it, copy it, inspect
//!   it. It knows no rules.
//! - **tree** is a document as raw pieces, for the patches that cannot stream.
//! - **path** parses paths and follows them. **spec** is what is declared. **reserved** has the parameters that a tool with
//!   a filter takes beside its own, and reads them from a call's input.
//! - **template** renders items as text, through Go's `text/template` (feature `template`). It knows no filters.
//! - **notice** has the lines that tamis writes into text, and marks lines of the input that look like them; **ansi** tells
//!   the controls of terminals from what is shown.
//! - **text** filters text that is not JSON, line by line: patterns, escape sequences of terminals, equal lines.
//! - **content** takes the main text of HTML pages, as text or Markdown, and cuts text where something ends (feature
//!   `content`). It knows no JSON.
//! - **filter** compiles a spec and runs it: the branch that applies (`when`), one stage for the document (`extract`, `retain`,
//!   `patches`), one for the items of its payload, and a **tail** for what is left (`text_filter`, `budget`, `compact`), in a
//!   chain; **hold** is the one place where bytes wait, in memory, then in an anonymous file, then never; **explain** says
//!   what a program does, and holds, before it runs ([`Program::explain`]).
//! - **history** prunes old results of tools in a chat: one reading finds them, rules decide, a second one copies the rest as
//!   it is.
//! - **manifest** reads files that map names of tools to specs: YAML to a tree with places, one file for each format;
//!   **catalog** has those that are built in.
//! - **command** filters the output of commands: it finds the command in what was typed, the filter that is for it, and runs
//!   that over the text; rules are data, in TOML. Its **run** runs a command: both streams through one pipe, the full output
//!   in a file before anything is cut.
//! - **io** drives a filter from readers, files and slices, and loads manifests; its **records** are streams of many documents,
//!   one a line or one an event.
//!
//! A module uses those above it in this list, never those below: [`error`](Error), [`limits`](Limits), [`report`](Report),
//! [`sink`](Sink), `allowance`, `ansi`, `excerpt`, `glob`, `nearest`, `notice`, `tokens`, `work`, `scan`, `path`, `json`, `tree`, `reserved`, `template`, `spec`, `text`, `content`, `filter`,
//! `history`, `manifest`, `catalog`, `command`, `io`; the command line is a crate of its own on top.
//!
//! # What is promised
//!
//! - Output, errors and the report do not depend on how the input was cut into chunks (but for the report's `plan` and
//!   `held_peak_bytes`).
//! - Numbers, strings and keys leave as the bytes that came in: `1.10`, `1E400`, `-0`, `"\u0041"`.
//! - Keys are compared after unescaping, code point by code point: `"\u0073sn"` is `ssn`. No case folding, no
//!   normalisation.
//! - What a rule removes is removed in every spelling, duplicate, order, depth and chunking.
//! - The whole document is validated (RFC 8259), dropped parts too, unless the spec says [`Validation::Structure`].
//! - Work on a document is linear in it, however many names the rules have. Rules cost more where patches need a tree, or branches
//!   test one place: each looks at what is on its way ([`Spec::patch`], [`Spec::when`]); where names and wildcards lead to one member
//!   in many ways, it is looked up in each; and each line or event of a stream begins anew with all paths of `select`, tests and
//!   patches ([`filter_ndjson`]). Nothing panics, nothing recurses on the depth of the input.
//! - On an error, what was emitted is a prefix of the output of some valid completion of the input read so far.
//!
//! Not promised: JSON inside strings is text. [`retain`](Spec::retain), [`exclude`](Spec::exclude) under a named root, and patches
//! that remove are boundaries. [`select`](Spec::select) saves and does not protect, unless the root is named and the spec says
//! [`OnError::Closed`]. `root: auto`, the `raw` fallback and `otherwise: pass` are conveniences. A call that asks for
//! [raw output](CallOptions::raw) gets what these rules remove, unless the spec says [`allow_raw(false)`](Spec::allow_raw); to the
//! response of a [failed call](CallOptions::is_error) those that remove apply. The path of an error may have keys that a rule would
//! have removed. Spilled and teed bytes, and the full outputs of commands, are unredacted.
//!
//! # Features
//!
//! - `cli` (default): the `tamis` command.
//! - `command` (default, through `cli`): `OutputFilterRegistry` and `CommandRules`, filters for the output of commands, through
//!   toml. Brings `manifest`. On Unix `CommandRunner` and what it is made of, through rustix and shared_child.
//! - `content` (default, through `cli`): [`Content`] of pages, answers and texts, through lol_html and dom_smoothie. Without it
//!   a spec with content does not compile, and a manifest with one is refused.
//! - `decode`: `Coding`, `Decoding`; content codings (gzip, br, zstd) in front of a filter, through compression-codecs (C: libzstd).
//! - `http-body`: `FilterBody`, for hyper, axum and tonic. Brings `tokio`.
//! - `lenient` (default, through `cli`): comments and trailing commas, through struson, in front of the filter.
//! - `manifest` (default, through `cli`): `Manifest` and the built-in catalog, through serde-saphyr. Brings `template` and
//!   `text`: what is wrong with a template or a pattern is said where it stands in the file.
//! - `template` (default, through `cli`): `Templates`, Go's `text/template` for compact summaries, through gtmpl-ng and
//!   simd-json.
//! - `tokens` (default, through `cli`): budgets in tokens are counted, through bpe-openai; without it they are estimated.
//!   `TokenCounter`.
//! - `text` (default, through `cli`): `TextProgram`, `TextRun`, `QuotedTextRun`, through regex.
//! - `tokio`: `filter_async`, `FilterStream` and `Transform`: readers, writers and streams that do not block.
//! - `tower`: `FilterLayer`, which filters the answers of a service. Brings `http-body`.
//! - `bench-simdjson`: another peer for the benches; nothing in the library.
//!
//! `default-features = false` leaves the library with a handful of small dependencies.

mod allowance;
mod ansi;
#[cfg(feature = "manifest")]
mod catalog;
#[cfg(feature = "command")]
mod command;
#[cfg(feature = "content")]
mod content;
mod error;
mod excerpt;
mod filter;
mod glob;
mod history;
mod io;
mod json;
mod limits;
#[cfg(feature = "manifest")]
mod manifest;
mod nearest;
mod notice;
mod path;
mod report;
mod reserved;
mod scan;
mod sink;
mod spec;
#[cfg(feature = "template")]
mod template;
#[cfg(feature = "text")]
mod text;
#[cfg(feature = "tokens")]
mod tokens;
mod tree;
mod work;

#[cfg(all(feature = "command", unix))]
pub use command::{
    CommandControls, CommandRunner, Notice, OverflowFile, OverflowFolder, RunReport, RunningCommand,
};
#[cfg(feature = "command")]
pub use command::{
    CommandLine, CommandReport, CommandRules, CommandRun, FilterResult, OutputFilter,
    OutputFilterRegistry, Passed,
};
pub use error::{Error, ErrorKind, Fault};
pub use filter::{CallOptions, Explanation, Filter, Mode, Program};
pub use history::{Prune, PruneProgram, PruneReport, PruneRun, PrunedTool};
#[cfg(feature = "http-body")]
pub use io::FilterBody;
#[cfg(feature = "lenient")]
pub use io::filter_lenient;
#[cfg(feature = "decode")]
pub use io::{Coding, Decoding};
#[cfg(feature = "tower")]
pub use io::{FilterFuture, FilterLayer, FilterService};
#[cfg(feature = "tokio")]
pub use io::{FilterStream, Outcome, Transform, filter_async, transform_async};
pub use io::{
    Pretty, Tee, WriteSink, filter_events, filter_file, filter_ndjson, filter_reader, filter_slice,
    filter_slice_with, prune_file, prune_reader, prune_slice, pump,
};
pub use limits::Limits;
#[cfg(feature = "manifest")]
pub use manifest::{Manifest, ManifestEntry, ManifestError, ManifestErrorKind, Problem};
pub use report::{Failed, MissedPath, Report};
pub use reserved::{ParameterType, ReservedParameter, ReservedParameters};
pub use sink::Sink;
pub use spec::{
    Budget, Compact, Content, ContentFormat, DuplicateKeys, Json, Omitted, OnError, OnOver,
    OnTestFailure, Operation, Otherwise, Root, Select, Siblings, Source, Spec, Test, TextFilter,
    Validation, Whitespace,
};
#[cfg(feature = "template")]
pub use template::{TemplateError, TemplateErrorKind, TemplatePart, Templates, Totals};
#[cfg(feature = "text")]
pub use text::{QuotedTextRun, TextProgram, TextReport, TextRun};
#[cfg(feature = "tokens")]
pub use tokens::{Counter as TokenCounter, TokenCount};

/// What only the fuzz targets (`fuzz/`) may see: cargo-fuzz sets `cfg(fuzzing)`.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    /// Compares the kernels that this CPU has; panics where they differ.
    pub fn scan_diff(data: &[u8]) {
        crate::scan::compare(data);
    }
}

/// A program is shared by any number of threads; a filter moves between them.
const _: () = {
    const fn shared<T: Send + Sync + ?Sized>() {}
    const fn moved<T: Send>() {}
    shared::<Program>();
    moved::<Filter<Vec<u8>>>();
    shared::<PruneProgram>();
    moved::<PruneRun<Vec<u8>>>();
    #[cfg(feature = "tokio")]
    {
        moved::<Transform>();
        moved::<FilterStream<Vec<u8>>>();
    }
    #[cfg(feature = "http-body")]
    moved::<FilterBody<Vec<u8>>>();
    #[cfg(feature = "text")]
    {
        shared::<TextProgram>();
        moved::<TextRun<Vec<u8>>>();
        moved::<QuotedTextRun<Vec<u8>>>();
    }
    #[cfg(feature = "command")]
    {
        shared::<OutputFilterRegistry>();
        shared::<dyn OutputFilter>();
        moved::<CommandRun<Vec<u8>>>();
    }
};

/// Runs the examples of the README and the guide as documentation tests.
#[cfg(doctest)]
#[doc(hidden)]
pub mod guide {
    #[doc = include_str!("../README.md")]
    pub mod readme {}

    #[cfg(all(feature = "manifest", feature = "text"))]
    #[doc = include_str!("../docs/src/library.md")]
    pub mod library {}

    #[doc = include_str!("../docs/src/chats.md")]
    pub mod chats {}

    #[doc = include_str!("../docs/src/errors.md")]
    pub mod errors {}

    #[cfg(feature = "content")]
    #[doc = include_str!("../docs/src/pages.md")]
    pub mod pages {}

    #[cfg(feature = "command")]
    #[doc = include_str!("../docs/src/command-output.md")]
    pub mod command_output {}

    #[cfg(all(feature = "tower", feature = "decode"))]
    #[doc = include_str!("../docs/src/gateway.md")]
    pub mod gateway {}
}
