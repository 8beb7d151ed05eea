//! Operations beyond those of [`TextSpec`](crate::TextSpec), as data: what rules for the output of commands declare.
//!
//! Data alone, and its compilation to stages in their order: engine, or failures and sections, then replacements, equal lines
//! anywhere, groups, equal lines in a row.

#![cfg_attr(
    not(feature = "command"),
    allow(dead_code, reason = "rules for commands alone declare them")
)]

use std::fmt;
use std::sync::Arc;

use regex::bytes::Regex;

use super::alike::Likeness;
use super::distinct::{self, Distinct};
use super::entry::EntryStage;
use super::fold::Fold;
use super::group::{Group, Grouping};
use super::patterns::single;
use super::replace::{Replace, Replacement};
use super::sections::{Section, Sections};
use super::sift::{Sift, SiftStage};
use super::stage::LineStage;
use super::whole::Whole;
use crate::error::Error;
use crate::limits::Limits;
use crate::regex_budget::RegexBudget;

/// Makes the stage of an engine, for one run.
#[derive(Clone)]
pub(crate) struct MakeEngine(Arc<Make>);

type Make = dyn Fn(&Limits) -> Box<dyn LineStage> + Send + Sync;

impl MakeEngine {
    pub(crate) fn new(
        make: impl Fn(&Limits) -> Box<dyn LineStage> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(make))
    }
}

impl fmt::Debug for MakeEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MakeEngine").finish_non_exhaustive()
    }
}

/// Operations, declared.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    /// Sections in which `strip`, `keep`, `sections` and `strip_sections` remove nothing.
    pub(crate) failures: Vec<Between>,
    /// Only lines in these sections stay; all lines, if none of them begins.
    pub(crate) sections: Vec<Between>,
    /// Lines in these sections go.
    pub(crate) strip_sections: Vec<Between>,
    /// What is written instead of the first match in a line, where that is shorter.
    pub(crate) replace: Vec<Swap>,
    pub(crate) group: Option<GroupBy>,
    pub(crate) dedup: Option<Dedup>,
    pub(crate) head: u64,
    pub(crate) tail: u64,
    /// Only a text of more lines is cut to its head and tail.
    pub(crate) uncut: u64,
    pub(crate) engine: Option<MakeEngine>,
    /// The engine marks lines of the input that have the form of a notice, since it writes notices of its own.
    pub(crate) marks: bool,
    /// A line that is too long to be held stays unless it is certain that it goes; else only if it is certain that it stays.
    pub(crate) keeps_doubtful: bool,
}

impl More {
    /// Whether there are no operations.
    pub(super) fn is_nothing(&self) -> bool {
        let Self { failures, sections, strip_sections, replace, group, dedup, engine, .. } = self;
        [failures, sections, strip_sections].iter().all(|list| list.is_empty())
            && replace.is_empty()
            && group.is_none()
            && dedup.is_none()
            && engine.is_none()
            && [self.head, self.tail, self.uncut].iter().all(|count| *count == 0)
    }
}

/// A section: from a line to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    pub(crate) from: String,
    pub(crate) end: Option<Edge>,
}

/// What ends a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    /// The last line of it.
    To(String),
    /// The first line behind it.
    Before(String),
}

/// A pattern and what stands instead of its match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swap {
    pub(crate) pattern: String,
    pub(crate) with: String,
}

/// Lines that are equal, or alike, become one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dedup {
    /// Lines are alike that differ in times and ids alone.
    pub(crate) alike: bool,
    /// Wherever in the text they stand; else those in a row.
    pub(crate) everywhere: bool,
    /// What is replaced in lines before they are compared, all matches of each: with `everywhere` or without.
    pub(crate) normalize: Vec<Swap>,
    /// With `everywhere`: lines that wait for those that are like them; 0 is the default.
    pub(crate) max_unique: u64,
}

/// Lines with a common key become a header and items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupBy {
    pub(crate) by: String,
    /// What the header says, and an item below it: `$1`, `${name}`.
    pub(crate) key: String,
    pub(crate) item: String,
    /// Wherever the lines are; else those in a row.
    pub(crate) scattered: bool,
}

/// The same, compiled.
#[derive(Default)]
pub(super) struct Compiled {
    failures: Arc<[Section]>,
    /// The patterns for lines outside `failures`.
    pub(super) outside: Arc<Sift>,
    sections: Arc<[Section]>,
    replace: Arc<[Replacement]>,
    group: Option<Arc<Grouping>>,
    dedup: Option<(Dedup, Arc<Likeness>)>,
    engine: Option<MakeEngine>,
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) uncut: u64,
    pub(super) keeps_doubtful: bool,
}

impl Compiled {
    /// Compiles the operations. Returns the patterns that the engine asks: none where only lines outside `failures` meet them.
    pub(super) fn new(
        more: &More,
        sift: Sift,
        allowance: &mut RegexBudget,
    ) -> Result<(Self, Sift), Error> {
        let mut single = |rule, part, entry, text: &str| single(rule, part, entry, text, allowance);
        let (mut failures, mut sections) = (Vec::new(), Vec::new());
        for (rule, list, keeps) in [
            ("failures", &more.failures, true),
            ("sections", &more.sections, true),
            ("strip_sections", &more.strip_sections, false),
        ] {
            let sections = if rule == "failures" { &mut failures } else { &mut sections };
            for (entry, between) in list.iter().enumerate() {
                sections.push(Section {
                    keeps,
                    from: single(rule, "from", entry, &between.from)?,
                    end: match &between.end {
                        None => None,
                        Some(Edge::To(text)) => Some((true, single(rule, "to", entry, text)?)),
                        Some(Edge::Before(text)) => {
                            Some((false, single(rule, "before", entry, text)?))
                        }
                    },
                });
            }
        }
        let mut replace = Vec::new();
        for (entry, swap) in more.replace.iter().enumerate() {
            let pattern = single("replace", "pattern", entry, &swap.pattern)?;
            replace.push(Replacement { pattern, with: swap.with.clone().into_bytes() });
        }
        let group = match &more.group {
            None => None,
            Some(group) => Some(Arc::new(Grouping {
                by: single("group", "by", 0, &group.by)?,
                key: group.key.clone().into_bytes(),
                item: group.item.clone().into_bytes(),
                scattered: group.scattered,
            })),
        };
        let dedup = match &more.dedup {
            None => None,
            Some(dedup) => {
                let mut normalize = Vec::new();
                for (entry, swap) in dedup.normalize.iter().enumerate() {
                    let pattern = single("normalize", "pattern", entry, &swap.pattern)?;
                    normalize.push(Replacement { pattern, with: swap.with.clone().into_bytes() });
                }
                let likeness = Likeness { normalize, times_and_ids: dedup.alike };
                Some((dedup.clone(), Arc::new(likeness)))
            }
        };
        let (outside, sift) =
            if failures.is_empty() { (Sift::default(), sift) } else { (sift, Sift::default()) };
        let compiled = Self {
            failures: failures.into(),
            outside: Arc::new(outside),
            sections: sections.into(),
            replace: replace.into(),
            group,
            dedup,
            engine: more.engine.clone(),
            head: more.head,
            tail: more.tail,
            uncut: more.uncut,
            keeps_doubtful: more.keeps_doubtful,
        };
        Ok((compiled, sift))
    }

    /// The stages before the patterns.
    pub(super) fn front(&self, limits: &Limits) -> Vec<Box<dyn LineStage>> {
        let mut stages: Vec<Box<dyn LineStage>> = Vec::new();
        if let Some(MakeEngine(make)) = &self.engine {
            stages.push(make(limits));
        }
        let mut outside: Vec<Box<dyn LineStage>> = Vec::new();
        if !self.sections.is_empty() {
            outside.push(Box::new(Sections::new(Arc::clone(&self.sections), held(limits))));
        }
        if self.failures.is_empty() {
            stages.append(&mut outside);
        } else {
            let sift = Arc::clone(&self.outside);
            outside.push(Box::new(SiftStage::new(sift, self.keeps_doubtful)));
            stages.push(Box::new(Whole::new(Arc::clone(&self.failures), outside)));
        }
        stages
    }

    /// The stages after them.
    pub(super) fn back(&self, limits: &Limits) -> Vec<Box<dyn EntryStage>> {
        let mut stages: Vec<Box<dyn EntryStage>> = Vec::new();
        if !self.replace.is_empty() {
            stages.push(Box::new(Replace::new(Arc::clone(&self.replace))));
        }
        let everywhere = self.dedup.as_ref().is_some_and(|(dedup, _)| dedup.everywhere);
        if let Some((Dedup { max_unique, .. }, likeness)) = &self.dedup
            && everywhere
        {
            let most = if *max_unique == 0 { distinct::MOST } else { *max_unique };
            stages.push(Box::new(Distinct::new(Arc::clone(likeness), most, held(limits))));
        }
        if let Some(group) = &self.group {
            stages.push(Box::new(Group::new(Arc::clone(group), held(limits))));
        }
        if let Some((_, likeness)) = &self.dedup
            && !everywhere
        {
            stages.push(Box::new(Fold::new(Arc::clone(likeness))));
        }
        stages
    }
}

/// Bytes that a stage may hold.
pub(super) fn held(limits: &Limits) -> usize {
    usize::try_from(limits.held()).unwrap_or(usize::MAX)
}

/// A regex, for the stages.
pub(super) type Pattern = Regex;
