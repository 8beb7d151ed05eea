//! Compiles a [`Spec`] into tries and tables.
//!
//! Knows rules and paths, no document. What is wrong with a spec is said here, with the place in its text; how a program will
//! run is said by `explain`.

use std::collections::HashSet;
use std::sync::Arc;

use super::call::Derived;
use super::patches::Patches;
use super::tail::TailRules;
use super::when::When;
use super::whole::WholeRules;
use crate::error::{Error, ErrorKind, RulePlace};
use crate::json::key;
use crate::path::trie::{Cursor, NodeId, Trie};
use crate::path::{Path, PathError, PathToken};
use crate::regex_budget::RegexBudget;
use crate::spec::{DuplicateKeys, Root, SelectPath as Written, Siblings, Spec};

/// Paths of one spec, all rules together.
pub(super) const MAX_RULES: usize = 10_000;
/// Selected sources inside one another: each level reads the value once more.
const MAX_OVERLAP: usize = 32;
/// Steps of one path.
const MAX_STEPS: usize = 1024;
/// Members of kimbap's responses that pass whatever is selected of a single object (SPEC §5).
const ENVELOPE: [&str; 3] = ["_pagination", "_exit_code", "stderr"];

/// A compiled [`Spec`]: immutable, cheap to clone, to be shared by any number of threads and runs.
///
/// `Display` prints its [`Explanation`](crate::Explanation): the stages in their order and how each runs.
///
/// ```
/// use tamis::{Program, Spec};
///
/// let program = Program::compile(&Spec::new().select("id").root("items"))?;
/// assert!(program.to_string().starts_with("plan: hold\n"));
///
/// let error = Program::compile(&Spec::new().select("a..b")).unwrap_err();
/// assert_eq!(error.kind(), tamis::ErrorKind::Spec);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program(Arc<Compiled>);

#[derive(Debug)]
pub(crate) struct Compiled {
    pub(super) spec: Spec,
    /// The value here is the document.
    pub(super) extract: Option<Path>,
    /// If nothing is there, the document is filtered as it is.
    pub(super) may_lack_extract: bool,
    pub(super) when: Option<When>,
    pub(super) retain: Option<Trie>,
    pub(super) patches: Option<Arc<Patches>>,
    pub(super) items: ItemRules,
    /// Instead of all of these: the document is taken as a whole.
    pub(super) whole: Option<WholeRules>,
    pub(super) tail: TailRules,
    /// The programs of calls that skip rules.
    pub(super) derived: Derived,
}

/// The rules on items, ready to run.
#[derive(Clone, Debug)]
pub(super) struct ItemRules {
    /// Nothing happens to any item.
    pub(super) idle: bool,
    pub(super) root: RootRule,
    pub(super) keep_siblings: bool,
    /// `u64::MAX`: no limit.
    pub(super) max_items: u64,
    pub(super) stop_early: bool,
    pub(super) select: Option<Selection>,
    pub(super) exclude: Trie,
    pub(super) drop_nulls: bool,
    pub(super) drop_empty: bool,
    pub(super) closed: bool,
    /// Whether a miss is one: in the response of a failed call nothing is.
    pub(super) judges: bool,
    /// Every document is an error: the response of a failed call, where only what is selected may leave.
    pub(super) refuses: bool,
    pub(super) duplicates: DuplicateKeys,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RootRule {
    Auto,
    First,
    Document,
    /// kimbap's `type: object` beside a select: the document if it has anything that is selected, else the array that `Auto`
    /// takes.
    DocumentOrArray,
    At(Path),
}

/// The selected sources as a trie over an item.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) trie: Trie,
    /// By node of the trie.
    pub(super) nodes: Vec<SelectNode>,
    pub(super) sources: Vec<Source>,
}

/// What is to be done with the value at a node.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectNode {
    /// Sources whose output begins with this value: it is one, or holds the first wildcard's container.
    pub(super) starts: Vec<u32>,
    /// Tokens from the item to here.
    pub(super) depth: usize,
    /// The source that is this value, if that is all that is to be known of it.
    pub(super) plain: Option<u32>,
    /// More than one output needs this value: it is held and read once for each.
    pub(super) shared: bool,
    /// Only what passes with a payload that is a single object is here or below.
    pub(super) passing: bool,
    /// Children that an object can have, that an array can have.
    pub(super) members: u32,
    pub(super) elements: u32,
    /// Of those members the passing ones.
    pub(super) passing_members: u32,
}

/// One selected source.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// As it was written, for the report.
    pub(super) text: String,
    /// The output key, as JSON.
    pub(super) key: Vec<u8>,
    /// It is the last name of the path, without escapes: a member that is spelled with as many bytes is spelled alike.
    pub(super) key_is_name: bool,
    pub(super) path: Path,
    /// It passes with what is selected of a payload that is a single object: it is no hit, and missing it is no miss.
    pub(super) passing: bool,
    /// Where in the exclude trie its value is.
    pub(super) exclude: Cursor,
}

impl Compiled {
    /// A name in the header or the footer of a summary that never has a value.
    #[cfg(feature = "manifest")]
    pub(crate) fn unknown_name(&self) -> Option<Error> {
        self.tail.unknown_name(&self.spec)
    }
}

impl Program {
    /// Compiles a spec.
    ///
    /// # Errors
    /// [`ErrorKind::Spec`] for a path that does not parse, two equal output keys, and the like; the message names the
    /// character that is wrong, and [`Error::excerpt`] points at it.
    ///
    /// # Complexity
    /// Linear in the length of all paths, which may have 100,000 steps together. The patterns of text filters may compile to
    /// 10 MiB in one list, and to 24 MiB in all lists of all branches together; what is refused is compiled no further.
    pub fn compile(spec: &Spec) -> Result<Self, Error> {
        Self::compile_within(spec, &mut RegexBudget::new())
    }

    /// The same where other specs have taken their part of the allowance for patterns.
    pub(crate) fn compile_within(spec: &Spec, allowance: &mut RegexBudget) -> Result<Self, Error> {
        if spec.test.is_some() {
            let message = "`test` stands in a branch of `when`, and nowhere else";
            return refuse_in("test", 0, true, message.into());
        }
        let extract = match &spec.extract {
            None => None,
            Some(text) => {
                Some(one_place("extract", "the document", text, spec.envelope, allowance)?)
            }
        };
        Self::compile_at(spec, extract, allowance)
    }

    /// Compiles a spec whose document is at a place of the input.
    pub(super) fn compile_at(
        spec: &Spec,
        extract: Option<Path>,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        let when = When::compile(spec, extract.as_ref(), allowance)?;
        let selects = spec.select.as_ref().map_or(0, |select| select.0.len());
        let retains = spec.retain.as_ref().map_or(0, Vec::len);
        let patches = spec.patches.as_ref().map_or(0, Vec::len);
        let rules = selects + spec.exclude.len() + retains + patches;
        if rules > MAX_RULES {
            return refuse(format!("{rules} rules are more than {MAX_RULES}"));
        }
        let retain = match &spec.retain {
            None => None,
            Some(pointers) => {
                let mut paths = Vec::with_capacity(pointers.len());
                for (entry, text) in pointers.iter().enumerate() {
                    paths.push(steps(Path::pointer(text), "retain", entry, text, allowance)?);
                }
                let mut trie = Trie::new(&paths);
                trie.sharpen(allowance);
                Some(trie)
            }
        };
        let patches = Patches::compile(spec, allowance)?;
        let whole = WholeRules::compile(spec)?;
        let items = ItemRules::compile(spec, allowance)?;
        let tail = TailRules::compile(spec, allowance)?;
        let spec = spec.clone();
        Ok(Self::of(Compiled {
            spec,
            extract,
            may_lack_extract: false,
            when,
            retain,
            patches,
            items,
            whole,
            tail,
            derived: Derived::default(),
        }))
    }

    pub(super) fn of(compiled: Compiled) -> Self {
        Self(Arc::new(compiled))
    }

    /// The spec that this program was compiled from.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.0.spec
    }

    pub(crate) fn compiled(&self) -> &Arc<Compiled> {
        &self.0
    }
}

impl ItemRules {
    fn compile(spec: &Spec, allowance: &mut RegexBudget) -> Result<Self, Error> {
        let root = match &spec.root {
            Root::Auto => RootRule::Auto,
            Root::First => RootRule::First,
            Root::Object if spec.envelope && spec.select.is_some() => RootRule::DocumentOrArray,
            Root::Object => RootRule::Document,
            Root::At(text) => {
                RootRule::At(one_place("root", "the payload", text, false, allowance)?)
            }
        };
        if spec.stop_early && spec.max_items == 0 {
            let message = "stop_early needs max_items: there is no item to stop at".into();
            return refuse_in("stop_early", 0, false, message);
        }
        let mut excluded = Vec::with_capacity(spec.exclude.len());
        for (entry, text) in spec.exclude.iter().enumerate() {
            let path = read(text, spec.envelope);
            excluded.push(steps(path, "exclude", entry, text, allowance)?);
        }
        let mut exclude = Trie::new(&excluded);
        exclude.sharpen(allowance);
        let select = match &spec.select {
            None => None,
            Some(select) => {
                Some(Selection::compile(&select.0, spec.envelope, &exclude, allowance)?)
            }
        };
        let idle = select.is_none()
            && exclude.is_empty()
            && spec.max_items == 0
            && !spec.drop_nulls
            && !spec.drop_empty
            && spec.siblings == Siblings::Keep
            && !spec.wrap
            && !matches!(root, RootRule::At(_));
        Ok(Self {
            idle,
            root,
            keep_siblings: spec.siblings == Siblings::Keep,
            max_items: if spec.max_items == 0 { u64::MAX } else { spec.max_items },
            stop_early: spec.stop_early,
            select,
            exclude,
            drop_nulls: spec.drop_nulls,
            drop_empty: spec.drop_empty,
            closed: spec.is_closed(),
            judges: true,
            refuses: false,
            duplicates: spec.duplicate_keys,
        })
    }

    /// Whether the document is looked through for its payload before the rules run.
    pub(super) fn looks(&self) -> bool {
        matches!(self.root, RootRule::Auto | RootRule::DocumentOrArray)
    }

    /// Whether something may have to wait for the first hit, and whether from the document's first byte on.
    pub(super) fn waits(&self) -> Option<WaitFrom> {
        let may_lack_root = matches!(self.root, RootRule::At(_) | RootRule::First);
        if self.judges && self.closed && (self.select.is_some() || may_lack_root) {
            Some(WaitFrom::Document)
        } else if self.select.is_some() && self.root == RootRule::DocumentOrArray {
            // If the array misses too, it was the document that did.
            Some(WaitFrom::Document)
        } else if self.select.is_some() {
            Some(WaitFrom::Payload)
        } else {
            None
        }
    }
}

/// Where the bytes begin that wait for the first hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitFrom {
    Document,
    Payload,
}

impl Selection {
    /// `envelope`: paths are read as kimbap reads them, and the members of its envelope pass as well.
    fn compile(
        written: &[Written],
        envelope: bool,
        exclude: &Trie,
        allowance: &mut RegexBudget,
    ) -> Result<Self, Error> {
        if written.is_empty() {
            let message = "select names no path; leave it out to keep everything".into();
            return refuse_in("select", 0, false, message);
        }
        let mut sources = Vec::with_capacity(written.len());
        let mut keys = HashSet::new();
        for (entry, source) in written.iter().enumerate() {
            let text = &source.path;
            let path = steps(read(text, envelope), "select", entry, text, allowance)?;
            let Some(name) = source.key.as_deref().or_else(|| path.last_name()) else {
                let message = format!(
                    "select: {text} has no name for the output; give it one: key={text}, in a file `key: \"{text}\"`"
                );
                return refuse_in("select", entry, false, message);
            };
            if name.is_empty() && source.key.is_some() {
                let message = format!("select: the output key of {text} is empty");
                return refuse_in("select", entry, true, message);
            }
            if !keys.insert(name.to_owned()) {
                let message = format!(
                    "select: the output key {name:?} comes twice; give the second another: other={text}, in a file `other: \"{text}\"`"
                );
                return refuse_in("select", entry, source.key.is_some(), message);
            }
            let at_key = exclude.start().member(exclude, Some(name.as_bytes()));
            let key = key::quote(name);
            let plain = key.len() == name.len() + 2;
            let last = path.0.last();
            let key_is_name =
                plain && matches!(last, Some(PathToken::Name(last)) if **last == *name);
            sources.push(Source {
                text: text.clone(),
                key,
                key_is_name,
                path,
                passing: false,
                exclude: at_key,
            });
        }
        for name in ENVELOPE {
            if envelope && keys.insert(name.to_owned()) {
                sources.push(Source {
                    text: name.to_owned(),
                    key: key::quote(name),
                    key_is_name: true,
                    path: Path(vec![PathToken::Name(name.into())]),
                    passing: true,
                    exclude: exclude.start().member(exclude, Some(name.as_bytes())),
                });
            }
        }
        let mut trie = Trie::new(sources.iter().map(|source| &source.path));
        trie.sharpen(allowance);
        let mut nodes = vec![SelectNode::default(); trie.len()];
        let mut through = vec![0u32; trie.len()];
        for (number, source) in sources.iter().enumerate() {
            // Down to where the source's output begins: its end, or its first wildcard.
            let mut node: NodeId = 0;
            let mut depth = 0;
            for token in &source.path.0 {
                let PathToken::Name(name) = token else { break };
                if let Some(count) = through.get_mut(node as usize) {
                    *count += 1;
                }
                node = trie.member(node, name.as_bytes()).unwrap_or_default();
                depth += 1;
                if let Some(reached) = nodes.get_mut(node as usize) {
                    reached.depth = depth;
                }
            }
            if let Some(node) = nodes.get_mut(node as usize) {
                node.starts.push(number as u32);
            }
        }
        for (id, (node, through)) in nodes.iter_mut().zip(&through).enumerate() {
            // An output that begins with the item itself is one inside it: the item is an output of its own.
            let others = usize::from(*through > 0 || id == 0);
            node.shared = !node.starts.is_empty() && node.starts.len() + others > 1;
            if let ([start], false) = (node.starts.as_slice(), node.shared)
                && let Some(source) = sources.get(*start as usize)
                && source.path.0.len() == node.depth
                && !source.exclude.is_hit()
            {
                node.plain = Some(*start);
            }
            for (token, _) in trie.children(id as NodeId) {
                node.members += u32::from(*token != PathToken::Any);
                node.elements += u32::from(token.index().is_some());
            }
            // A name of its own: no path leads through it.
            let starts = node.starts.iter().filter_map(|start| sources.get(*start as usize));
            node.passing =
                *through == 0 && !node.starts.is_empty() && starts.clone().all(|it| it.passing);
        }
        let passing = trie.children(0).iter();
        let passing = passing
            .filter(|(_, child)| nodes.get(*child as usize).is_some_and(|node| node.passing));
        let passing = passing.count() as u32;
        if let Some(item) = nodes.first_mut() {
            item.passing_members = passing;
        }
        let selection = Self { trie, nodes, sources };
        selection.check_overlap()?;
        Ok(selection)
    }

    /// Refuses sources that are inside one another too often.
    fn check_overlap(&self) -> Result<(), Error> {
        for (entry, source) in self.sources.iter().enumerate() {
            let (mut node, mut shared) = (0, 0);
            for token in &source.path.0 {
                shared +=
                    usize::from(self.nodes.get(node as usize).is_some_and(|node| node.shared));
                let PathToken::Name(name) = token else { break };
                node = self.trie.member(node, name.as_bytes()).unwrap_or_default();
            }
            if shared > MAX_OVERLAP {
                let message = format!(
                    "select: {} is inside more than {MAX_OVERLAP} other selected values",
                    source.text
                );
                return refuse_in("select", entry, false, message);
            }
        }
        Ok(())
    }

    pub(super) fn node(&self, id: NodeId) -> &SelectNode {
        static NONE: SelectNode = SelectNode {
            starts: Vec::new(),
            depth: 0,
            plain: None,
            shared: false,
            passing: false,
            members: 0,
            elements: 0,
            passing_members: 0,
        };
        self.nodes.get(id as usize).unwrap_or(&NONE)
    }
}

/// A path that leads to one place.
pub(super) fn one_place(
    rule: &'static str,
    what: &str,
    text: &str,
    foreign: bool,
    allowance: &mut RegexBudget,
) -> Result<Path, Error> {
    let path = steps(read(text, foreign), rule, 0, text, allowance)?;
    if path.0.contains(&PathToken::Any) {
        let message = format!("{rule}: a wildcard cannot say where {what} is: {text}");
        return refuse_in(rule, 0, false, message);
    }
    Ok(path)
}

/// Parses a path. In a `foreign` manifest, forms that cannot be meant are part of a name, as that manifest's own program
/// reads them, and only `tamis check` warns of them.
fn read(text: &str, foreign: bool) -> Result<Path, PathError> {
    if foreign { Path::parse_foreign(text).map(|(path, _)| path) } else { Path::parse(text) }
}

pub(super) fn steps(
    path: Result<Path, PathError>,
    rule: &'static str,
    entry: usize,
    text: &str,
    allowance: &mut RegexBudget,
) -> Result<Path, Error> {
    let path = path.map_err(|error| {
        let message = format!("{rule}: {}", error.message);
        let place = RulePlace { rule, entry, is_key: false, at: error.at, message };
        let line = Error::new(ErrorKind::Spec, error.line(rule, text));
        line.with_excerpt(error.excerpt(text)).in_rule(place)
    })?;
    if path.0.len() > MAX_STEPS {
        let message = format!("{rule}: a path has {} steps, more than {MAX_STEPS}", path.0.len());
        return refuse_in(rule, entry, false, message);
    }
    match allowance.take_steps(path.0.len()) {
        Ok(()) => Ok(path),
        Err(message) => refuse_in(rule, entry, false, format!("{rule}: {message}")),
    }
}

/// Refuses an entry of a rule, or its key.
pub(super) fn refuse_in<T>(
    rule: &'static str,
    entry: usize,
    is_key: bool,
    message: String,
) -> Result<T, Error> {
    let place = RulePlace { rule, entry, is_key, at: 0, message: message.clone() };
    Err(Error::new(ErrorKind::Spec, message).in_rule(place))
}

pub(super) fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Spec, message))
}
