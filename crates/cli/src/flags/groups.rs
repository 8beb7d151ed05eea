//! Flags that several commands share.
//!
//! This module must not depend on how flags combine or what they do: `job` does.

use std::path::PathBuf;

use anstream::ColorChoice;
use clap::builder::TypedValueParser;
use tamis::Limits;
use tamis::spec::{
    DuplicateKeys, ItemCondition, Omitted, OnError, OnKind, OnOver, Prefer, Redact, Siblings,
    Validation, Whitespace,
};
use tamis_manifest::Level;

use crate::flags::choice::one_of;
use crate::flags::{conditions, lists};

/// Flags that select a filter and set the options of a call. Shared by `filter` and `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// Filter with the rules of this manifest; may be repeated
    ///
    /// YAML: tamis' own (`version: 1`, `filters:`), a kimbap service's, a reShapr artifact (`kind: ToolsFilters`), or
    /// an AIOS tool registry (`tools:`). `-` is standard input.
    #[arg(long, value_name = "M", help_heading = "Rules")]
    pub(crate) manifest: Vec<PathBuf>,

    /// The service of the tool: only reShapr artifacts bound to it are used
    ///
    /// Required if artifacts of several services have a tool of this name.
    #[arg(long, value_name = "NAME@VERSION", help_heading = "Rules")]
    pub(crate) service: Option<String>,

    /// The tool whose filter is used
    ///
    /// Optional if the manifest has only one filter. Without --manifest, a tool of the built-in catalog: see
    /// `tamis tools`.
    #[arg(long, value_name = "NAME", help_heading = "Rules")]
    pub(crate) tool: Option<String>,

    /// How much a filter with two levels leaves out
    ///
    /// careful: what is known to be noise; members that nobody knew of stay. tight (the default): all but what is known to
    /// matter.
    #[arg(long, value_name = "LEVEL", help_heading = "Rules", value_parser = level())]
    pub(crate) level: Option<Level>,

    /// Continue with only the value at this path, as the new document
    ///
    /// Applied before all other rules, also to --raw output. The path has no wildcards. It is an error if the document
    /// has no value there.
    #[arg(long, value_name = "PATH", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) extract: Option<String>,

    /// Keep only these values of each item
    ///
    /// A list of PATH or KEY=PATH. PATH may end with the members to keep of objects: `labels[]{name,color}`. The key in the output is KEY, or the last name of the path. An element is split at
    /// the first `=`, unless it starts with `/`.
    #[arg(long, value_name = "K=PATH,PATH", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) select: Vec<String>,

    /// Remove these values from each item, after --select
    #[arg(long, value_name = "PATH,PATH", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) exclude: Vec<String>,

    /// Leave out these values of each item, after --exclude, to save: gateways store them, and failed calls keep them
    #[arg(long, value_name = "PATH,PATH", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) omit: Vec<String>,

    /// Apply the rules only to documents that have all of these paths; others pass
    ///
    /// With a rule that removes for safety, a document without them is an error. `[]` and `*` look at the first element.
    #[arg(long, value_name = "PATH,PATH", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) requires: Vec<String>,

    /// Say what --select yields where a value is of another kind than the rest of its path needs
    ///
    /// keep: a scalar is the value itself, an array in place of an object applies the rest to each element, and an object
    /// in place of an array is its only element.
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = on_kind())]
    pub(crate) on_kind: Option<OnKind>,

    /// Replace credentials (secrets), personal data (personal), or the values at these paths, by a mark: secrets,owner.email
    ///
    /// `secrets` finds keys of clouds and forges, tokens, private keys, passwords in URLs and more, in every string and
    /// key of the output; `personal` finds e-mail addresses, phone numbers, IBANs, numbers of cards, national identifiers and
    /// IP addresses. A path is read like those of --exclude; members of these names are /secrets and /personal.
    #[arg(long, value_name = "WHAT,WHAT", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) redact: Vec<String>,

    /// Keep only the values at these JSON Pointers of the document
    ///
    /// Applied before all other rules. Names also match in the elements of arrays. With this rule, a total miss of
    /// --select or --root is an error unless --on-error raw is given.
    #[arg(long, value_name = "POINTER,POINTER", help_heading = "Rules")]
    pub(crate) retain: Vec<String>,

    /// Apply a JSON Patch (RFC 6902) after --retain; may be repeated
    ///
    /// A JSON array of operations. If one cannot be applied, or a `test` fails, the run fails and nothing is written,
    /// unless --on-error is given.
    #[arg(long, value_name = "FILE|-", help_heading = "Rules")]
    pub(crate) patch: Vec<PathBuf>,

    /// Allow a patch to remove missing values
    #[arg(long, help_heading = "Rules")]
    pub(crate) lenient_remove: bool,

    /// Where the items are: auto, first, object, or a path
    ///
    /// auto: the document if it is an array; in an object, `items`, `result` or `data`, else its first array, else the
    /// object itself. first: its first array. object: the document itself.
    #[arg(long, value_name = "ROOT", help_heading = "Rules", allow_hyphen_values = true)]
    pub(crate) root: Option<String>,

    /// How to treat the other members of the object that has the items
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = siblings())]
    pub(crate) siblings: Option<Siblings>,

    /// Keep only items for which a condition holds; may be repeated: state=open, n=1|2, title~REGEX, !draft=true
    ///
    /// Before --max-items counts. A number, true, false or null equals that value and the string of that spelling; `\|` is
    /// the character. Elements that are not objects are kept. Of duplicate members the first one decides.
    #[arg(long = "where", value_name = "CONDITION", help_heading = "Rules", value_parser = conditions::parse, allow_hyphen_values = true)]
    pub(crate) conditions: Vec<ItemCondition>,

    /// Keep the first N items; 0 keeps all
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    pub(crate) max_items: Option<u64>,

    /// Remove members that are null, at every depth of an item
    #[arg(long, help_heading = "Rules")]
    pub(crate) drop_nulls: bool,

    /// Remove members that are "", [] or {}, after all other drops
    #[arg(long, help_heading = "Rules")]
    pub(crate) drop_empty: bool,

    /// Write once what the items share, if that makes the document shorter; `tamis restore` gives it back
    ///
    /// `_all` has the members that are equal in all items, `_made` those that follow from others, and `$ref` points to
    /// what was written before. Nothing is lost. Also applies to the output of a --tool.
    #[arg(long, help_heading = "Output")]
    pub(crate) factor: bool,

    /// Stop reading at the first item that --max-items cuts
    ///
    /// The rest of the input is not validated.
    #[arg(long, help_heading = "Rules")]
    pub(crate) stop_early: bool,

    /// Drop items from the end until the output has at most BYTES bytes (k, M, G: powers of 1024)
    ///
    /// If the output is still too long, strings are shortened, then arrays and objects. A member `_omitted` describes
    /// the missing parts. White space is not measured. Overrides the budget of a manifest.
    #[arg(long, value_name = "BYTES", help_heading = "Rules", value_parser = lists::bytes, allow_negative_numbers = true, conflicts_with = "budget_tokens")]
    pub(crate) budget: Option<u64>,

    /// Limit the output like --budget, in tokens of the vocabulary `o200k_base`
    #[arg(long, value_name = "N", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    pub(crate) budget_tokens: Option<u64>,

    /// Keep the first K items even if they exceed the budget [default: 1]
    #[arg(long, value_name = "K", help_heading = "Rules", value_parser = lists::count, allow_negative_numbers = true)]
    pub(crate) min_items: Option<u64>,

    /// Whether the output describes what was left out [default: mark with a budget, silent with only --max-items]
    #[arg(long, value_name = "HOW", help_heading = "Rules", value_parser = omitted())]
    pub(crate) omitted: Option<Omitted>,

    /// How to treat an output that exceeds its budget although nothing more can be left out
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = on_over())]
    pub(crate) on_over: Option<OnOver>,

    /// Choose the part that a budget keeps of a document that is too long
    ///
    /// Default: information, but order with a manifest or any of --root, --select, --where, --max-items, --min-items and
    /// --encode.
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = prefer())]
    pub(crate) prefer: Option<Prefer>,

    /// Skip all rules, including those that remove values: only validate and minify
    #[arg(long, help_heading = "Rules")]
    pub(crate) raw: bool,

    /// Treat the document as the response of a failed call: apply only rules that remove values, text filters and
    /// budgets
    ///
    /// With --on-error closed and --select, the run fails.
    #[arg(long, help_heading = "Rules")]
    pub(crate) is_error: bool,

    /// How to treat a total miss (no selected path in any item, or no items at --root) and a patch that fails
    #[arg(long, value_name = "WHAT", help_heading = "Rules", value_parser = on_error())]
    pub(crate) on_error: Option<OnError>,

    /// How strictly dropped values are checked
    #[arg(long, value_name = "HOW", help_heading = "Input", value_parser = validation())]
    pub(crate) validation: Option<Validation>,

    /// How to treat selected members, and items, whose name was already used in the same object
    ///
    /// Other members are not compared: this is not a general check for duplicates.
    #[arg(long, value_name = "WHAT", help_heading = "Input", value_parser = duplicate_keys())]
    pub(crate) duplicate_keys: Option<DuplicateKeys>,

    /// How to treat white space between tokens
    #[arg(long, value_name = "WHAT", help_heading = "Output", value_parser = whitespace())]
    pub(crate) whitespace: Option<Whitespace>,

    /// Bytes of one item to buffer at most, as --where does (k, M, G: powers of 1024) [default: 16M]
    #[arg(long, value_name = "BYTES", help_heading = "Limits", value_parser = lists::bytes, allow_negative_numbers = true)]
    pub(crate) item: Option<u64>,

    #[command(flatten)]
    pub(crate) bounds: Bounds,
}

/// Limits of a run. Shared by all commands that read documents.
#[derive(Debug, clap::Args)]
pub(crate) struct Bounds {
    /// Maximum depth of nested arrays and objects [default: 1024]
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = lists::count, allow_negative_numbers = true)]
    max_depth: Option<u64>,

    #[command(flatten)]
    waiting: Waiting,
}

/// Limits of buffered input.
#[derive(Debug, clap::Args)]
pub(crate) struct Waiting {
    /// Bytes to buffer in memory at most (k, M, G: powers of 1024) [default: 4M]
    #[arg(long, value_name = "BYTES", help_heading = "Limits", value_parser = lists::bytes, allow_negative_numbers = true)]
    held: Option<u64>,

    /// Bytes to buffer in a temporary file after that; 0 never uses the disk [default: 1G]
    ///
    /// The buffered bytes are unredacted. The file has no name and is removed with the process.
    #[arg(long, value_name = "BYTES", help_heading = "Limits", value_parser = lists::bytes, allow_negative_numbers = true)]
    spill: Option<u64>,
}

impl Selection {
    /// Returns the rule of `--redact`, if it is given.
    pub(crate) fn redaction(&self) -> Option<Redact> {
        if self.redact.is_empty() {
            return None;
        }
        let entries = self.redact.iter().flat_map(|list| lists::split(list));
        Some(entries.fold(Redact::new(), |redact, entry| match entry {
            "secrets" => redact.secrets(true),
            "personal" => redact.personal(true),
            path => redact.path(path),
        }))
    }
}

impl Bounds {
    pub(crate) fn limits(&self) -> Limits {
        let limits = self.waiting.limits();
        let depth = self.max_depth.map(|depth| usize::try_from(depth).unwrap_or(usize::MAX));
        depth.map_or(limits.clone(), |depth| limits.with_depth(depth))
    }
}

impl Waiting {
    pub(crate) fn limits(&self) -> Limits {
        let limits = Limits::new();
        let (held, spill) =
            (self.held.unwrap_or(limits.held()), self.spill.unwrap_or(limits.spill()));
        limits.with_held(held).with_spill(spill)
    }
}

fn siblings() -> impl TypedValueParser<Value = Siblings> {
    one_of(&[
        ("keep", "keep them unchanged (default)", Siblings::Keep),
        ("drop", "remove them", Siblings::Drop),
    ])
}

fn on_kind() -> impl TypedValueParser<Value = OnKind> {
    one_of(&[("drop", "nothing (default)", OnKind::Drop), ("keep", "what is there", OnKind::Keep)])
}

fn level() -> impl TypedValueParser<Value = Level> {
    one_of(&[
        ("careful", "without what is known to be noise", Level::Careful),
        ("tight", "only what is known to matter (default)", Level::Tight),
    ])
}

fn on_error() -> impl TypedValueParser<Value = OnError> {
    one_of(&[
        ("raw", "skip the selection or the patch, with a warning (default)", OnError::Raw),
        ("closed", "fail without output (default with --retain and --patch)", OnError::Closed),
    ])
}

fn omitted() -> impl TypedValueParser<Value = Omitted> {
    one_of(&[
        (
            "mark",
            "add a member `_omitted` with the number of missing items and members",
            Omitted::Mark,
        ),
        ("silent", "mention it only in the report", Omitted::Silent),
    ])
}

fn on_over() -> impl TypedValueParser<Value = OnOver> {
    one_of(&[
        ("warn", "write it, with a warning (default)", OnOver::Warn),
        ("error", "fail without output", OnOver::Error),
    ])
}

fn prefer() -> impl TypedValueParser<Value = Prefer> {
    one_of(&[
        ("order", "the first items", Prefer::Order),
        (
            "information",
            "items that are evenly spread, or the values and passages with the most information",
            Prefer::Information,
        ),
    ])
}

fn validation() -> impl TypedValueParser<Value = Validation> {
    one_of(&[
        ("full", "RFC 8259, the whole document (default)", Validation::Full),
        (
            "structure",
            "brackets, strings and UTF-8 only: for trusted senders",
            Validation::Structure,
        ),
    ])
}

fn whitespace() -> impl TypedValueParser<Value = Whitespace> {
    one_of(&[
        ("minify", "remove it (default)", Whitespace::Minify),
        ("keep", "keep it before the values that are kept", Whitespace::Keep),
    ])
}

fn duplicate_keys() -> impl TypedValueParser<Value = DuplicateKeys> {
    one_of(&[
        ("first", "use the first (default)", DuplicateKeys::First),
        ("count", "use the first, and count all others", DuplicateKeys::Count),
        ("reject", "fail at the second", DuplicateKeys::Reject),
    ])
}

/// Returns the parser of `--color`.
pub(crate) fn colour() -> impl TypedValueParser<Value = ColorChoice> {
    one_of(&[
        ("auto", "on a terminal, unless NO_COLOR is set (default)", ColorChoice::Auto),
        ("always", "also for files and pipes", ColorChoice::Always),
        ("never", "none", ColorChoice::Never),
    ])
}
