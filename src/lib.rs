//! A streaming filter for tool output: keeps the fields you declare and drops the rest as the bytes arrive.
//!
//! A tool returns far more than a language model needs. tamis is for the programs in between (agents, gateways, command
//! runners): they declare for each tool what to keep, and forward only that. A [`Spec`] declares the rules (`select`,
//! `exclude`, `retain`, `max_items`, …). A [`Program`] is a compiled spec, shared by any number of threads. A
//! [`Filter`] applies it to one document while its bytes arrive, without building a tree. Memory does not grow with the
//! document, kept values keep their exact bytes, and a [`Report`] records what was cut.
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
//! assert_eq!(report.items_truncated_from, Some(2));
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! The root of the crate has what this job needs: specs, programs, filters, drivers, reports and errors. Modules have
//! the rest:
//!
//! | module | for | feature |
//! |---|---|---|
//! | [`spec`] | types of rules: budgets, patches, conditions, roots | |
//! | [`text`] | lines of text that is not JSON | `text` |
//! | [`content`] | the main text of pages | `content` |
//! | [`json`] | places of values, and strings, in documents that are routed or edited | |
//! | [`factor`] | restores documents in which what items share is written once | |
//! | [`reserved`] | parameters with which a model chooses the size of a response | |
//! | `http` | bodies, streams and services that do not block | `tokio` |
//! | `template` | templates of summaries | `template` |
//! | [`tokens`] | counts tokens by a vocabulary, such as that of the package `tamis-tokens` | |
//!
//! # Conventions of the API
//!
//! - A rule of a spec is a plain method: `Spec::new().select("id").max_items(1)`.
//! - Options of everything else have consuming builders named `with_x` next to getters named `x`:
//!   `Limits::new().with_depth(64)`, [`Limits::depth`].
//! - Each kind of rules has three types: data that declares them (`TextSpec`), a compiled program (`TextProgram`), and
//!   a filter that bytes are pushed into (`TextFilter`). All filters have the methods `write`, `end`, `sink` and
//!   `into_sink`.
//! - Errors are opaque: match on [`Error::kind`], pick a status by [`Error::fault`], and get the name of a reached
//!   limit from [`Error::limit`].
//!
//! # The path of a chunk
//!
//! From [`filter_reader`] to the [`Sink`], for a `select` on the items of an array:
//!
//! | step | file | what happens |
//! |--:|---|---|
//! | 1 | `io/mod.rs` | `filter_reader` reads 64 KiB and calls `Filter::write` |
//! | 2 | `filter/run/filter_run/` | checks the phase of the run, skips a byte order mark, waits (`lookahead.rs`) while a branch of `when` is undecided |
//! | 3 | `filter/run/pipe.rs` | passes the chunk to the first stage: strings (`json_strings`), the document stage (`extract`, `retain`, `patches`) or the items |
//! | 4 | `filter/run/payload.rs` | finds the payload (`root`), waits (`lookahead.rs`) while the root or the first hit is unknown |
//! | 5 | `filter/run/stage.rs` | pairs the stage with the machine and the sink |
//! | 6 | `crates/json/src/scan/` | turns a window of 4 KiB into bit masks and token positions |
//! | 7 | `crates/json/src/machine/` | walks the tokens and validates; carries out the handler's policy in loops, and asks the handler about all other values |
//! | 8 | `filter/run/items/` | the handler of the rules on items: states a policy for each container, and drops, copies or inspects each value that the machine asks about, by the trie of `crates/json/src/path/` |
//! | 9 | `crates/json/src/writer.rs` | writes commas, brackets, keys and the copied bytes |
//! | 10 | `filter/run/output/` | `text_filter`, `budget` and `compact`, if declared |
//! | 11 | `io/sinks.rs` | the sink of the driver writes to the writer |
//!
//! ```text
//! chunk ─▶ scan ──masks──▶ machine ──event──▶ stage ──▶ writer ──▶ Sink ─▶ driver
//!          Carry           partial token,  ◀─Interest─  │  path::Trie (node per level)
//!                          level bits      ◀─Policy──   └─ Lookahead: probe, hold ──(decided)──▶ replay
//! Manifest ─▶ Spec ─▶ Program (+ plan) ── Arc ──▶ many Filters   Meter charges every held byte
//! ```
//!
//! # Map of the modules
//!
//! Below this crate are others, which are internal and have no stable API:
//!
//! - `tamis-json` (`crates/json`): the engine. Masks of blocks of 64 bytes, paths, the machine that walks tokens, strings,
//!   trees of raw pieces, held bytes, limits and errors; no rules. [`json`], [`Error`], [`Limits`] and [`Sink`] are from there.
//! - `tamis-factor` (`crates/factor`): writes once what the items of a document share, and restores it.
//! - `tamis-text` (`crates/text`): finds credentials and replaces them; what a terminal shows; notices in text. With the
//!   feature `text`, filters of lines, see [`text`].
//! - `tamis-page` (`crates/page`): extracts the main text of HTML pages (feature `content`), without JSON.
//! - `tamis-template` (`crates/template`): renders items by Go's `text/template` (feature `template`), without filters.
//!
//! A module of this crate uses those above it in this list and never those below. A test checks that.
//!
//! - Leaf: [`report`](Report).
//! - `encode`: documents in other encodings than JSON.
//! - `reserved`: the parameters that a tool with a filter takes in addition to its own.
//! - `spec`: the rules, as data.
//! - `content`: the rules for pages.
//! - `filter`: compiles a spec and runs it; explains what a program does before it runs ([`Program::explain`]).
//! - [`factor`]: restores factored documents.
//! - `io`: drivers for readers, files, slices and streams of documents.
//! - `http`: drivers that do not block: async readers and writers, streams, bodies, services (feature `tokio`).
//!
//! `tamis-tokens` (`crates/tokens`) is a vocabulary that a call may take. Above this crate are:
//!
//! - `tamis-manifest` (`crates/manifest`): files that map names of tools to specs, and the built-in ones.
//! - `tamis-command` (`crates/command`): filters the output of commands by rules, and runs commands.
//! - `tamis-chat` (`crates/chat`): replaces old tool results in a chat.
//! - `tamis-insight` (`crates/insight`): counts the tokens of a payload per path, suggests filters, says which rule removed which
//!   bytes, and attacks filters with hostile documents.
//!
//! The command line is the package `tamis-cli` in `crates/cli`. The store of results is `tamis-store`, the
//! proxy in front of MCP servers `tamis-mcp` (messages) and `tamis-gateway` (transports). The hooks and installers for coding agents are the package `tamis-agents`
//! in `crates/agents`. The packages for Python and Node are in `python` and `node`; they share `crates/bindings`.
//!
//! # Promises
//!
//! - Output, errors and the report do not depend on how the input was cut into chunks, except for the report's `plan`
//!   and `held_peak_bytes`.
//! - Numbers, strings and keys keep their bytes: `1.10`, `1E400`, `-0`, `"\u0041"`.
//! - Keys are compared after unescaping, code point by code point: `"\u0073sn"` is `ssn`. There is no case folding and
//!   no normalisation.
//! - A removed field stays removed: escaped spellings, duplicate keys, order, nesting and chunk boundaries make no
//!   difference.
//! - The whole document is validated (RFC 8259), including dropped parts, unless the spec says
//!   [`Validation::Structure`](spec::Validation::Structure).
//! - Work is linear in the document, however many names the rules have. The cost also depends on the number of rules in
//!   these cases: patches that need a tree, and branches that test one place, each visit the values on their path
//!   ([`Spec::patch`], [`Spec::when`]); if names and wildcards lead to one member in many ways, each way is followed;
//!   and each document of a stream starts again with all paths of `select`, conditions and patches ([`filter_ndjson`]).
//! - Nothing panics, and nothing recurses on the depth of the input.
//! - After an error, the output is a prefix of the output of some valid completion of the input read so far.
//!
//! # Security boundaries
//!
//! [`retain`](Spec::retain), [`exclude`](Spec::exclude) under a named root, and patches that remove are boundaries:
//! what they remove does not reach the receiver. [`select`](Spec::select) saves tokens and is a boundary only if the
//! root is named and the spec says [`OnError::Closed`](spec::OnError::Closed). These are conveniences, not
//! boundaries: `root: auto`, the `raw` fallback and `otherwise: pass`.
//!
//! A call that asks for raw output ([`CallOptions`]) gets everything, unless the spec says
//! [`allow_raw(false)`](Spec::allow_raw). Rules that remove also apply to responses of failed calls. JSON inside
//! strings is text, unless [`json_strings`](Spec::json_strings) names the strings. The path of an error may contain keys that a
//! rule would have removed. Spilled and teed bytes are not redacted. The full outputs of commands are, if
//! `CommandRunner::with_redact` is set.
//!
//! # Features
//!
//! No feature is enabled by default; the library then has a handful of small dependencies.
//!
//! - `content`: [`content`] of pages, responses and texts. Uses lol_html and dom_smoothie. Without it, a spec with
//!   content does not compile.
//! - `decode`: content codings (gzip, br, zstd) before a filter. Uses compression-codecs, and libzstd in C.
//! - `http-body`: `http::FilterBody`, for hyper, axum and tonic. Enables `tokio`.
//! - `lenient`: comments and trailing commas before the filter. Uses struson.
//! - `template`: the module `template`, Go's `text/template` for compact summaries. Uses simd-json.
//! - `text`: filters for plain text, in the module `text`. Uses regex.
//! - `tokio`: `filter_async`, and the module `http` for readers, writers and streams that do not block.
//! - `tower`: `http::FilterLayer`, which filters the responses of a service. Enables `http-body`.
//! - `tracing`: spans and events of `FilterLayer`. Enables `tower`. Uses tracing.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod encode;
mod filter;
mod io;
mod report;

pub mod content;
pub mod factor;
#[cfg(feature = "tokio")]
pub mod http;
pub mod json;
pub mod reserved;
pub mod spec;
pub mod text;
pub use tamis_json::tokens;

pub use filter::{BadLines, Call, CallOptions, Explanation, Filter, Program};
#[cfg(feature = "tokio")]
pub use http::streams::filter_async;
#[cfg(feature = "lenient")]
pub use io::filter_lenient;
#[doc(hidden)]
pub use io::parts;
pub use io::{
    FailedRun, FileReader, PrettyWriter, RunResult, TeeReader, WriteSink, filter_documents,
    filter_events, filter_file, filter_ndjson, filter_reader, filter_slice,
};
pub use report::{
    BudgetCuts, CutPlace, CutPlaceUnit, EncodeSkip, ExecutionMode, FactorSkip, FailureReport,
    InnerReport, KeptParts, KeptReason, MissedPath, PatchesMode, PayloadPath, PlanStep, PreferSkip,
    Report, SkipReason, WhenBranch,
};
pub use spec::rules::Spec;
pub use tamis_json::error::{Error, ErrorKind, Fault};
pub use tamis_json::limits::Limits;
pub use tamis_json::sink::Sink;
#[cfg(feature = "template")]
pub use tamis_template as template;
pub use tamis_text::MarkTable;

/// Internals for the fuzz targets in `fuzz/`; cargo-fuzz sets `cfg(fuzzing)`.
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    /// Runs a program with and without the loops of the JSON machine. Returns whether the run failed, and `None` if the
    /// spec cannot be compiled. Panics if the results differ.
    pub fn loop_diff(
        spec: &crate::Spec,
        options: &crate::CallOptions,
        document: &[u8],
        cuts: &[usize],
    ) -> Option<bool> {
        crate::filter::loop_diff::compare(spec, options, document, cuts)
    }

    /// Returns the names of the shortcuts that can be turned off.
    pub fn fast_paths() -> Vec<String> {
        let names = tamis_json::fast_paths::FastPath::ALL.iter();
        names.map(|path| format!("{path:?}")).collect()
    }

    /// Calls `run` while this thread does not use the shortcut with this name. Returns `None` if there is none. Calls
    /// must not be nested.
    pub fn without_fast_path<T>(name: &str, run: impl FnOnce() -> T) -> Option<T> {
        tamis_json::fast_paths::named(name).map(|path| tamis_json::fast_paths::without(path, run))
    }

    /// Compares the kernels of this CPU. Panics if they differ.
    pub fn scan_diff(data: &[u8]) {
        tamis_json::scan::compare(data);
    }
}

/// Programs can be shared by threads, and filters can be moved between them.
const _: () = {
    const fn shared<T: Send + Sync + ?Sized>() {}
    const fn moved<T: Send>() {}
    shared::<Program>();
    moved::<Filter<Vec<u8>>>();
    shared::<json::ValuePaths>();
    moved::<json::ValueFinder>();
    #[cfg(feature = "tokio")]
    {
        moved::<http::Transform>();
        moved::<http::FilterStream<Vec<u8>>>();
    }
    #[cfg(feature = "http-body")]
    moved::<http::FilterBody<Vec<u8>>>();
    #[cfg(feature = "text")]
    {
        shared::<text::TextProgram>();
        moved::<text::TextFilter<Vec<u8>>>();
        moved::<text::QuotedTextFilter<Vec<u8>>>();
    }
};

/// Runs the examples of the README and the guide as documentation tests.
#[cfg(doctest)]
#[doc(hidden)]
pub mod guide {
    #[doc = include_str!("../README.md")]
    pub mod readme {}

    #[doc = include_str!("../docs/src/errors.md")]
    pub mod errors {}

    #[cfg(feature = "content")]
    #[doc = include_str!("../docs/src/pages.md")]
    pub mod pages {}

    #[cfg(all(feature = "tower", feature = "decode"))]
    #[doc = include_str!("../docs/src/gateway.md")]
    pub mod gateway {}
}
