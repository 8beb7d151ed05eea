//! One run over documents: counts the bytes and tokens of each path.

use std::fmt;

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::limits::Limits;
use tamis_json::machine::{Machine, MachineConfig};
use tamis_json::path::Path;
use tamis_json::scan::Scanner;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use super::paths::{DOCUMENT, Moved, PathId, PathTable, kind_bit};

use super::token_parts::TokenParts;
use super::tree::{LookTree, TokenFigures};

/// The options of a [`Look`].
///
/// ```
/// use tamis_insight::look::LookOptions;
///
/// let options = LookOptions::new().with_max_paths(500);
/// assert_eq!(options.max_paths(), 500);
/// ```
#[derive(Clone, Debug)]
pub struct LookOptions {
    max_paths: usize,
    limits: Limits,
    exact: bool,
}

impl Default for LookOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl LookOptions {
    /// Returns the defaults, which are listed at each setter.
    #[must_use]
    pub fn new() -> Self {
        Self { max_paths: 10_000, limits: Limits::new(), exact: false }
    }

    /// Sets how many different paths are kept. All others are summed in paths that end with `*`, at most one for each
    /// path that is kept.
    ///
    /// ### Default
    /// 10,000.
    #[must_use]
    pub fn with_max_paths(mut self, paths: usize) -> Self {
        self.max_paths = paths;
        self
    }

    /// Sets the limits of a run. Only `depth` and `key` have an effect.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether tokens are counted with the vocabulary `o200k_base` instead of estimated at four bytes each. The text
    /// that is counted is the document without white space between tokens. Each token counts for the path of its first
    /// byte.
    ///
    /// ### Default
    /// They are estimated.
    ///
    /// ### Caveat
    /// Counting takes many times as long as everything else.
    #[must_use]
    pub fn with_exact(mut self, exact: bool) -> Self {
        self.exact = exact;
        self
    }

    /// Returns the maximum number of different paths.
    #[must_use]
    pub const fn max_paths(&self) -> usize {
        self.max_paths
    }

    /// Returns the limits of a run.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns whether tokens are counted.
    #[must_use]
    pub const fn exact(&self) -> bool {
        self.exact
    }
}

/// Counts the bytes and tokens of each path of a document while its bytes arrive.
///
/// Chunks may be cut anywhere. Several documents can be counted together: each is ended by [`end`](Self::end). White space
/// between tokens is not counted. The elements of an array have one path, `items[]`, and so have the members of an object
/// that is used as a map, `users.*`: one with more than 1,000 names, with at least 32 that are all objects or all arrays,
/// or with at least 100 that are all scalars of one kind. Containers that are nested deeper than 32 levels are counted as
/// a whole.
///
/// Memory: [`max_paths`](LookOptions::max_paths) paths of at most 128 bytes a step. Work is linear in the document.
///
/// ```
/// use tamis_insight::look::{Look, LookOptions};
///
/// let mut look = Look::new(&LookOptions::new());
/// for chunk in [r#"[{"id"#, r#"": 1}, {"id": 2}"#, "]"] {
///     look.write(chunk.as_bytes())?;
/// }
/// look.end()?;
/// let tree = look.into_tree();
/// assert_eq!((tree.bytes(), tree.tokens()), (19, 5));
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct Look {
    machine: Machine,
    config: MachineConfig,
    scanner: Scanner,
    bom: BomSkipper,
    counts: PathCounts,
    read: u64,
    failed: bool,
}

impl Look {
    /// Creates a run.
    #[must_use]
    pub fn new(options: &LookOptions) -> Self {
        Self::with(options, Scanner::new())
    }

    pub(super) fn with(options: &LookOptions, scanner: Scanner) -> Self {
        let config = MachineConfig::new(&options.limits);
        Self {
            machine: Machine::new(config.clone()),
            config,
            scanner,
            bom: BomSkipper::new(),
            counts: PathCounts::new(options),
            read: 0,
            failed: false,
        }
    }

    /// Takes the next bytes of the document.
    ///
    /// # Errors
    /// The document is not valid JSON, is nested too deep, or has a name that is too long. After an error all further
    /// calls fail, and [`into_tree`](Self::into_tree) has the figures up to it.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.check()?;
        self.read += chunk.len() as u64;
        let fed = self.feed(chunk);
        self.failed = fed.is_err();
        fed
    }

    fn feed(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let (document, prefix) = self.bom.skip(chunk)?;
        self.machine.skip_prefix(prefix.unwrap_or(0));
        // The handler never stops a run.
        self.machine.feed::<dyn Handler>(self.scanner, document, &mut self.counts).map(|_| ())
    }

    /// Ends the document. The next bytes begin another one, which is counted together with it.
    ///
    /// # Errors
    /// The document is not complete, or an earlier call failed.
    pub fn end(&mut self) -> Result<(), Error> {
        self.check()?;
        let ended = self.bom.end().and_then(|()| self.machine.end::<dyn Handler>(&mut self.counts));
        self.failed = ended.is_err();
        ended?;
        self.counts.end_document();
        self.machine.restart(self.config.clone());
        self.bom = BomSkipper::new();
        Ok(())
    }

    /// Returns the number of bytes read so far, including white space.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Consumes the run and returns the figures of all documents.
    #[must_use]
    pub fn into_tree(mut self) -> LookTree {
        self.counts.end_document();
        self.counts.paths.merge_maps();
        LookTree::of_paths(&self.counts.paths, self.counts.figures())
    }

    /// Begins another document, even if this one is not complete. If it `was_valid`, its figures are the
    /// [earlier](super::paths::PathNode::earlier) ones from now on.
    pub(crate) fn next_document(&mut self, was_valid: bool) {
        self.counts.end_document();
        self.counts.paths.next_document(was_valid);
        self.machine.restart(self.config.clone());
        (self.bom, self.failed) = (BomSkipper::new(), false);
    }

    /// Counts the next documents as the value at a path of the earlier one. Returns whether there is such a path.
    pub(crate) fn enter(&mut self, path: &Path) -> bool {
        let paths = &self.counts.paths;
        let root = path.0.iter().try_fold(self.counts.root, |at, step| paths.child(at, step));
        self.counts.root = root.unwrap_or(self.counts.root);
        root.is_some()
    }

    /// Returns all paths, with the maps merged, and the path of the document.
    pub(crate) fn paths(&mut self) -> (&PathTable, PathId) {
        let moved = self.counts.paths.merge_maps();
        self.counts.moved(&moved);
        (&self.counts.paths, self.counts.root)
    }

    fn check(&self) -> Result<(), Error> {
        if self.failed {
            return Err(Error::new(ErrorKind::Failed, "the run has failed"));
        }
        Ok(())
    }

    /// Returns the number of steps of the machine, to bound the work.
    #[cfg(test)]
    pub(super) fn steps(&self) -> u64 {
        self.machine.steps()
    }
}

impl fmt::Debug for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look").field("read", &self.read).finish_non_exhaustive()
    }
}

/// The handler: follows the paths along the document.
struct PathCounts {
    paths: PathTable,
    /// The path of the document.
    root: PathId,
    open: Vec<OpenContainer>,
    /// The path of the value whose bytes arrive.
    copied: PathId,
    tokens: Option<TokenParts>,
}

/// A container that is entered.
struct OpenContainer {
    path: PathId,
    is_object: bool,
    /// Number of members or elements so far.
    children: u64,
    /// The position among the names of the path that the next member probably has.
    next: usize,
}

impl PathCounts {
    fn new(options: &LookOptions) -> Self {
        Self {
            paths: PathTable::new(options.max_paths),
            root: DOCUMENT,
            open: Vec::new(),
            copied: DOCUMENT,
            tokens: options.exact.then(TokenParts::default),
        }
    }

    fn figures(&self) -> TokenFigures {
        if let Some(tokens) = &self.tokens {
            return tokens.figures();
        }
        TokenFigures::Estimated
    }

    /// Counts bytes for a path.
    #[inline]
    fn add(&mut self, path: PathId, bytes: &[u8]) {
        if let Some(node) = self.paths.node_mut(path) {
            node.figures.bytes += bytes.len() as u64;
        }
        self.count_tokens(path, bytes);
    }

    #[inline]
    fn count_tokens(&mut self, path: PathId, bytes: &[u8]) {
        if let Some(tokens) = &mut self.tokens {
            tokens.push(path, bytes, |path, count| {
                if let Some(node) = self.paths.node_mut(path) {
                    node.figures.tokens += count;
                }
            });
        }
    }

    fn end_document(&mut self) {
        self.open.clear();
        if let Some(tokens) = &mut self.tokens {
            tokens.finish(|path, count| {
                if let Some(node) = self.paths.node_mut(path) {
                    node.figures.tokens += count;
                }
            });
        }
    }

    /// Replaces the paths that were merged.
    #[cold]
    fn moved(&mut self, moved: &Moved) {
        let now = |path: PathId| moved.get(path).copied().unwrap_or(DOCUMENT);
        self.root = now(self.root);
        for open in &mut self.open {
            (open.path, open.next) = (now(open.path), 0);
        }
        if let Some(tokens) = &mut self.tokens {
            tokens.moved(now);
        }
    }

    /// Returns the path of a value in the container that was entered last.
    #[inline]
    fn path_of(&mut self, slot: ValueSlot<'_>) -> PathId {
        let Some(open) = self.open.last_mut() else { return self.root };
        let comma = open.children > 0;
        open.children += 1;
        let parent = open.path;
        let path = match slot {
            ValueSlot::Top => self.root,
            ValueSlot::Element(_) => self.paths.elements(parent),
            ValueSlot::Member(key) => match self.paths.expected(parent, &key, open.next) {
                Some(path) => {
                    open.next += 1;
                    path
                }
                None => {
                    let (path, at, moved) = self.paths.member(parent, &key);
                    open.next = at + 1;
                    if let Some(moved) = moved {
                        self.moved(&moved);
                    }
                    path
                }
            },
        };
        if comma {
            let parent = self.open.last().map_or(self.root, |open| open.path);
            self.add(parent, b",");
        }
        if let ValueSlot::Member(key) = slot {
            if self.tokens.is_some() {
                self.count_tokens(path, b"\"");
                self.count_tokens(path, key.raw());
                self.count_tokens(path, b"\":");
            }
            if let Some(node) = self.paths.node_mut(path) {
                node.figures.bytes += key.raw().len() as u64 + 3;
            }
        }
        path
    }
}

impl Handler for PathCounts {
    #[inline]
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let path = self.path_of(slot);
        if let Some(node) = self.paths.node_mut(path) {
            node.figures.count += 1;
            node.kinds |= kind_bit(kind);
        }
        if !kind.is_container() || self.paths.is_whole(path) {
            self.copied = path;
            return Ok(Interest::Copy);
        }
        let is_object = kind == ValueKind::Object;
        self.open.push(OpenContainer { path, is_object, children: 0, next: 0 });
        self.add(path, if is_object { b"{" } else { b"[" });
        Ok(Interest::Inspect)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        if let Some(open) = self.open.pop() {
            self.add(open.path, if open.is_object { b"}" } else { b"]" });
        }
        Ok(())
    }

    #[inline]
    fn raw(&mut self, bytes: &[u8]) {
        self.add(self.copied, bytes);
    }
}
