//! Resolves flags into a job: a spec, options, inputs and outputs.
//!
//! This module must not touch a file; manifests are read when the job runs. Combinations of flags that make no sense
//! are refused here, with a remedy.

use std::path::{Path, PathBuf};

use tamis::spec::{Budget, Encode, Prefer, Root, Siblings};
use tamis::{CallOptions, Error, Limits, Program, Spec};

use crate::console::Usage;
use crate::files::conflicts::Places;
use crate::files::place::Place;
use crate::filters::by_name::{self, Tool};
use crate::filters::patch_files;
use crate::flags::groups::Selection;
use crate::flags::{habits, lists};
use crate::job::why::Asked;

/// A run with its resolved flags.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) selected: Selected,
    pub(crate) input: Place,
    pub(crate) output: Place,
    pub(crate) tee: Option<PathBuf>,
    /// [`Place::Standard`] is standard error.
    pub(crate) report: Option<Place>,
    pub(crate) form: Form,
    pub(crate) pretty: bool,
    /// Minified output was asked for, also on a terminal.
    pub(crate) minified: bool,
    /// The output is the elements of the payload.
    pub(crate) lines: bool,
    /// Strings are written without quotes.
    pub(crate) unquotes: bool,
    pub(crate) stats: bool,
    /// Explain which rule removed which bytes.
    pub(crate) why: Option<Asked>,
}

impl Job {
    /// Returns the files and streams that it reads and writes.
    pub(crate) fn places(&self) -> Places<'_> {
        Places {
            input: Some(&self.input),
            rules: self.selected.files(),
            output: Some(&self.output),
            tee: self.tee.as_deref(),
            report: self.report.as_ref(),
        }
    }
}

/// The form of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Document,
    /// One document per line.
    Lines,
    /// Documents that follow each other.
    Documents,
    /// The documents in server-sent events.
    Events,
    /// A document with comments and trailing commas.
    Lenient,
}

impl Form {
    /// Returns the word for one of many documents.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Lines => "line",
            Self::Events => "event",
            Self::Document | Self::Documents | Self::Lenient => "document",
        }
    }

    /// Returns whether the input is many documents, which are filtered one by one.
    pub(crate) fn is_many(self) -> bool {
        matches!(self, Self::Lines | Self::Documents | Self::Events)
    }
}

/// A filter and the options of a call.
#[derive(Debug)]
pub(crate) struct Selected {
    rules: Rules,
    pub(crate) options: CallOptions,
    /// Whether a flag says what a budget prefers.
    says_prefer: bool,
    /// Whether raw output was requested.
    pub(crate) raw: bool,
    /// The root given for the items that `--max-items` counts.
    pub(crate) counted_at: Option<String>,
    /// Whether `--max-items` counts items.
    pub(crate) counts_items: bool,
}

/// The source of the rules.
#[derive(Debug)]
enum Rules {
    /// A spec from flags, and the files with its patches.
    Inline(Box<Spec>, Vec<PathBuf>),
    Tool(Tool),
}

impl Selected {
    /// Creates a selection from a spec and limits.
    pub(crate) fn inline(spec: Spec, limits: Limits) -> Self {
        let rules = Rules::Inline(Box::new(spec), Vec::new());
        let options = CallOptions::new()
            .with_token_counter(tamis_tokens::o200k_base())
            .with_suggestions(true)
            .with_limits(limits);
        Self {
            rules,
            options,
            says_prefer: false,
            raw: false,
            counted_at: None,
            counts_items: false,
        }
    }

    /// Removes the members next to the payload, whatever the rules say.
    pub(crate) fn drop_siblings(&mut self) {
        match &mut self.rules {
            Rules::Inline(spec, _) => **spec = std::mem::take(&mut **spec).siblings(Siblings::Drop),
            Rules::Tool(tool) => tool.siblings = Some(Siblings::Drop),
        }
    }

    /// Sets the form of the output, whatever the rules say.
    pub(crate) fn encode(&mut self, form: Encode) {
        if form != Encode::Json && !self.says_prefer {
            self.options = self.options.clone().with_prefer(Prefer::Order);
        }
        match &mut self.rules {
            Rules::Inline(spec, _) => **spec = std::mem::take(&mut **spec).encode(form),
            Rules::Tool(tool) => tool.encode = Some(form),
        }
    }

    /// Compiles the rules.
    ///
    /// # Errors
    /// The rules, or the manifest that has them, are invalid.
    pub(crate) fn program(&self) -> Result<Program, Error> {
        match &self.rules {
            Rules::Inline(spec, patches) if patches.is_empty() => Program::compile(spec),
            Rules::Inline(spec, patches) => Program::compile(&patch_files::add_all(spec, patches)?),
            Rules::Tool(tool) => tool.program(),
        }
    }

    /// Returns whether the rules are those of a tool.
    pub(crate) fn is_by_name(&self) -> bool {
        matches!(&self.rules, Rules::Tool(_))
    }

    /// Returns whether the compiled rules are from the built-in catalog, which selects members that items may lack.
    pub(crate) fn is_of_catalog(&self) -> bool {
        matches!(&self.rules, Rules::Tool(tool) if tool.is_builtin())
    }

    /// Returns the files with the rules, each with its flag.
    fn files(&self) -> Vec<(&'static str, &Path)> {
        let (flag, files) = match &self.rules {
            Rules::Inline(_, patches) => ("--patch", patches),
            Rules::Tool(tool) => ("--manifest", &tool.manifests),
        };
        files.iter().map(|path| (flag, path.as_path())).collect()
    }
}

/// Resolves the flags that select a filter.
///
/// # Errors
/// Flags that cannot be combined.
pub(crate) fn select(args: &Selection) -> Result<Selected, Usage> {
    let sources = || args.select.iter().flat_map(|list| lists::split(list));
    if let Some((source, (key, path))) =
        sources().find_map(|source| Some((source, habits::renamed(source)?)))
    {
        let message = format!(
            "--select {source}: write {key}={path} (a name with blanks is written [\"{source}\"])"
        );
        return Err(Usage::new(message));
    }
    let rules = match by_name::resolve(args)? {
        Some(tool) => Rules::Tool(tool),
        None if args.stop_early && args.max_items.is_none_or(|count| count == 0) => {
            return Err(Usage::new(
                "--stop-early needs --max-items N with N of at least 1: without it there is no item to stop at",
            ));
        }
        None if args.max_items.is_some_and(|count| count > 0)
            && args.root.as_deref().is_some_and(|root| Root::from(root) == Root::Object) =>
        {
            return Err(Usage::new(
                "--max-items and --root object: the only item is the document itself; leave one of them out",
            ));
        }
        None if args.min_items.is_some()
            && args.budget.is_none()
            && args.budget_tokens.is_none() =>
        {
            return Err(Usage::new(
                "--min-items needs --budget or --budget-tokens: without one all items are kept",
            ));
        }
        None if args.on_over.is_some() && args.budget.is_none() && args.budget_tokens.is_none() => {
            return Err(Usage::new(
                "--on-over needs --budget or --budget-tokens: without one no output is too long",
            ));
        }
        None if args.prefer.is_some() && args.budget.is_none() && args.budget_tokens.is_none() => {
            return Err(Usage::new(
                "--prefer needs --budget or --budget-tokens: without one nothing is cut",
            ));
        }
        None if args.omitted.is_some()
            && args.budget.is_none()
            && args.budget_tokens.is_none()
            && args.max_items.is_none_or(|count| count == 0) =>
        {
            return Err(Usage::new(
                "--omitted needs --budget, --budget-tokens or --max-items: without one no item is left out",
            ));
        }
        None if args.lenient_remove && args.patch.is_empty() => {
            return Err(Usage::new(
                "--lenient-remove needs --patch: it applies to the operations of a patch",
            ));
        }
        None => Rules::Inline(Box::new(spec(args)), args.patch.clone()),
    };
    let limits = args.bounds.limits();
    let limits = match args.item {
        Some(bytes) => limits.with_item(bytes),
        None => limits,
    };
    let mut options = CallOptions::new()
        .with_token_counter(tamis_tokens::o200k_base())
        .with_suggestions(true)
        .with_raw(args.raw)
        .with_is_error(args.is_error)
        .with_limits(limits);
    let budget = args.budget.map(Budget::Bytes).or(args.budget_tokens.map(Budget::Tokens));
    if let Some(budget) = budget {
        options = options.with_budget(budget);
    }
    if let Some(count) = args.min_items {
        options = options.with_min_items(count);
    }
    if let Some(omitted) = args.omitted {
        options = options.with_omitted(omitted);
    }
    if let Some(on_over) = args.on_over {
        options = options.with_on_over(on_over);
    }
    let is_undeclared = matches!(rules, Rules::Inline(..))
        && args.root.is_none()
        && args.select.is_empty()
        && args.conditions.is_empty()
        && args.max_items.is_none()
        && args.min_items.is_none();
    if let Some(prefer) = args.prefer.or(is_undeclared.then_some(Prefer::Information)) {
        options = options.with_prefer(prefer);
    }
    let counted_at = args.root.clone().filter(|root| {
        args.max_items.is_some_and(|count| count > 0)
            && matches!(Root::from(root.as_str()), Root::At(_))
    });
    let counts_items = args.max_items.is_some_and(|count| count > 0);
    let says_prefer = args.prefer.is_some();
    Ok(Selected { rules, raw: args.raw, options, says_prefer, counted_at, counts_items })
}

fn spec(args: &Selection) -> Spec {
    let mut spec = Spec::new()
        .max_items(args.max_items.unwrap_or(0))
        .stop_early(args.stop_early)
        .drop_nulls(args.drop_nulls)
        .drop_empty(args.drop_empty)
        .factor(args.factor)
        .lenient_remove(args.lenient_remove)
        .siblings(args.siblings.unwrap_or_default())
        .on_kind(args.on_kind.unwrap_or_default())
        .validation(args.validation.unwrap_or_default())
        .whitespace(args.whitespace.unwrap_or_default())
        .duplicate_keys(args.duplicate_keys.unwrap_or_default())
        .root(args.root.as_deref().map_or_else(Root::default, Root::from));
    if let Some(on_error) = args.on_error {
        spec = spec.on_error(on_error);
    }
    for source in args.select.iter().flat_map(|list| lists::split(list)) {
        spec = match lists::key_and_path(source) {
            (Some(key), path) => spec.select_as(key, path),
            (None, path) => spec.select(path),
        };
    }
    if let Some(path) = &args.extract {
        spec = spec.extract(path);
    }
    for condition in &args.conditions {
        spec = spec.keep_where(condition.clone());
    }
    for path in args.exclude.iter().flat_map(|list| lists::split(list)) {
        spec = spec.exclude(path);
    }
    for path in args.omit.iter().flat_map(|list| lists::split(list)) {
        spec = spec.omit(path);
    }
    for path in args.requires.iter().flat_map(|list| lists::split(list)) {
        spec = spec.requires(path);
    }
    if let Some(redact) = args.redaction() {
        spec = spec.redact(redact);
    }
    for pointer in args.retain.iter().flat_map(|list| lists::split(list)) {
        spec = spec.retain(pointer);
    }
    spec
}
