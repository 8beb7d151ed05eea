//! Operations beyond those of [`TextSpec`](crate::TextSpec): rules for the output of commands declare them.
//!
//! This module has the declarations and compiles them to stages, in this order: the engine, or failures and sections;
//! then, after the patterns, replacements, equal lines anywhere, groups, equal lines in a row.

use std::fmt;
use std::sync::Arc;

use tamis_json::error::Error;
use tamis_json::limits::Limits;
use tamis_json::regex_budget::RegexBudget;

use super::dedup_adjacent::DedupAdjacent;
use super::dedup_anywhere::{self, DedupAnywhere};
use super::entry_stage::EntryStage;
use super::group::{CompiledGroup, GroupStage};
use super::line_patterns::{LinePatternStage, LinePatterns};
use super::line_stage::LineStage;
use super::pattern_list::{PatternList, single};
use super::protected_sections::ProtectedSections;
use super::replace::{CompiledReplacement, ReplaceStage};
use super::sections::{CompiledSection, SectionStage};
use super::similarity::Similarity;

/// Creates the stage of an engine, one for each run.
#[derive(Clone)]
pub struct StageFactory(Arc<CreateStage>);

type CreateStage = dyn Fn(&Limits) -> Box<dyn LineStage> + Send + Sync;

impl StageFactory {
    /// Wraps a function that creates the stage.
    pub fn new(create: impl Fn(&Limits) -> Box<dyn LineStage> + Send + Sync + 'static) -> Self {
        Self(Arc::new(create))
    }
}

impl fmt::Debug for StageFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageFactory").finish_non_exhaustive()
    }
}

/// Declared operations.
#[derive(Clone, Debug, Default)]
pub struct RuleOperations {
    /// Sections in which `strip`, `keep`, `sections` and `strip_sections` remove nothing.
    pub failures: Vec<SectionSpec>,
    /// Only lines in these sections are kept; all lines, if no such section begins.
    pub sections: Vec<SectionSpec>,
    /// Lines in these sections are removed.
    pub strip_sections: Vec<SectionSpec>,
    /// Replacements for the first match in a line, applied if they make the line shorter.
    pub replace: Vec<ReplaceSpec>,
    /// Lines that are listed under common headings.
    pub group: Option<GroupSpec>,
    /// Lines that are folded.
    pub dedup: Option<DedupSpec>,
    /// Lines to keep at the beginning and at the end. 0 means unlimited.
    pub head: u64,
    /// The lines that are kept at the end.
    pub tail: u64,
    /// Only a text with more lines than this is cut to its head and tail.
    pub uncut: u64,
    /// Lines between the head and the tail that are not left out.
    pub messages: Vec<String>,
    /// A stage for the output of one tool.
    pub engine: Option<StageFactory>,
    /// Whether the engine itself marks input lines that look like a notice, because it writes notices of its own.
    pub marks: bool,
    /// Whether every text that is overwritten becomes a line: the text is that of a file.
    pub keeps_frames: bool,
    /// Whether a line too long to be held is kept if its beginning does not decide.
    pub keeps_doubtful: bool,
}

impl RuleOperations {
    /// Whether no operation is declared.
    pub(super) fn is_nothing(&self) -> bool {
        let Self {
            failures,
            sections,
            strip_sections,
            replace,
            group,
            dedup,
            head,
            tail,
            uncut,
            engine,
            // Settings of operations.
            messages: _,
            marks: _,
            keeps_frames: _,
            keeps_doubtful: _,
        } = self;
        [failures, sections, strip_sections].iter().all(|list| list.is_empty())
            && replace.is_empty()
            && group.is_none()
            && dedup.is_none()
            && engine.is_none()
            && [head, tail, uncut].iter().all(|count| **count == 0)
    }
}

/// A section: from one line to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionSpec {
    /// The pattern of the line that begins a section.
    pub from: String,
    /// The line that ends it; by default, the next section does.
    pub end: Option<SectionEnd>,
}

/// The pattern of the line that ends a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionEnd {
    /// The last line of the section.
    To(String),
    /// The first line after the section.
    Before(String),
}

/// A pattern and the replacement for its match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplaceSpec {
    /// The pattern of the text that is replaced.
    pub pattern: String,
    /// The replacement, with `$1` for groups.
    pub with: String,
}

/// Replaces equal or similar lines by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DedupSpec {
    /// Whether lines that differ only in times and ids are similar.
    pub alike: bool,
    /// Whether lines anywhere in the text are compared, instead of lines in a row.
    pub everywhere: bool,
    /// Replacements for all matches in the text by which lines are compared. Used with `everywhere` and without.
    pub normalize: Vec<ReplaceSpec>,
    /// With `everywhere`: how many distinct lines are held; 0 is the default.
    pub max_unique: u64,
}

/// Replaces lines with a common key by a heading and items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// The pattern of the lines.
    pub by: String,
    /// Templates of the heading and of an item: `$1`, `${name}`.
    pub key: String,
    /// The template of each line under its heading.
    pub item: String,
    /// Whether lines anywhere in the text are grouped, instead of lines in a row.
    pub scattered: bool,
}

/// Compiled operations.
#[derive(Default)]
pub(super) struct CompiledRuleOps {
    failures: Arc<[CompiledSection]>,
    /// The patterns for lines outside `failures`.
    pub(super) outside: Arc<LinePatterns>,
    sections: Arc<[CompiledSection]>,
    replace: Arc<[CompiledReplacement]>,
    group: Option<Arc<CompiledGroup>>,
    dedup: Option<CompiledDedup>,
    engine: Option<StageFactory>,
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) uncut: u64,
    pub(super) messages: Option<Arc<PatternList>>,
    pub(super) keeps_frames: bool,
    pub(super) keeps_doubtful: bool,
}

struct CompiledDedup {
    everywhere: bool,
    max_unique: u64,
    similarity: Arc<Similarity>,
}

impl CompiledRuleOps {
    /// Compiles the operations. Also returns the patterns that the pipeline applies to every line: none if there are
    /// `failures`, because then the patterns apply only to lines outside of those.
    pub(super) fn new(
        operations: RuleOperations,
        patterns: LinePatterns,
        allowance: &mut RegexBudget,
    ) -> Result<(Self, LinePatterns), Error> {
        let RuleOperations {
            failures,
            sections,
            strip_sections,
            replace,
            group,
            dedup,
            head,
            tail,
            uncut,
            messages,
            engine,
            // `TextProgram` reads it.
            marks: _,
            keeps_frames,
            keeps_doubtful,
        } = operations;
        let messages = match messages.as_slice() {
            [] => None,
            texts => Some(Arc::new(PatternList::compile("messages", texts, allowance)?)),
        };
        let failures = compile_sections("failures", &failures, true, allowance)?;
        let mut sections = compile_sections("sections", &sections, true, allowance)?;
        sections.extend(compile_sections("strip_sections", &strip_sections, false, allowance)?);
        let replace = compile_replacements("replace", replace, allowance)?;
        let group = match group {
            None => None,
            Some(GroupSpec { by, key, item, scattered }) => Some(Arc::new(CompiledGroup {
                by: single("group", "by", 0, &by, allowance)?,
                key: key.into_bytes(),
                item: item.into_bytes(),
                scattered,
            })),
        };
        let dedup = match dedup {
            None => None,
            Some(DedupSpec { alike, everywhere, normalize, max_unique }) => {
                let normalize = compile_replacements("normalize", normalize, allowance)?;
                let similarity = Arc::new(Similarity { normalize, times_and_ids: alike });
                Some(CompiledDedup { everywhere, max_unique, similarity })
            }
        };
        let (outside, patterns) = if failures.is_empty() {
            (LinePatterns::default(), patterns)
        } else {
            (patterns, LinePatterns::default())
        };
        let compiled = Self {
            failures: failures.into(),
            outside: Arc::new(outside),
            sections: sections.into(),
            replace: replace.into(),
            group,
            dedup,
            engine,
            head,
            tail,
            uncut,
            messages,
            keeps_frames,
            keeps_doubtful,
        };
        Ok((compiled, patterns))
    }

    /// Creates the stages before the patterns.
    pub(super) fn front(&self, limits: &Limits) -> Vec<Box<dyn LineStage>> {
        let mut stages: Vec<Box<dyn LineStage>> = Vec::new();
        if let Some(StageFactory(create)) = &self.engine {
            stages.push(create(limits));
        }
        let mut outside: Vec<Box<dyn LineStage>> = Vec::new();
        if !self.sections.is_empty() {
            outside.push(Box::new(SectionStage::new(Arc::clone(&self.sections), held(limits))));
        }
        if self.failures.is_empty() {
            stages.append(&mut outside);
        } else {
            let patterns = Arc::clone(&self.outside);
            outside.push(Box::new(LinePatternStage::new(patterns, self.keeps_doubtful)));
            stages.push(Box::new(ProtectedSections::new(Arc::clone(&self.failures), outside)));
        }
        stages
    }

    /// Creates the stages after the patterns.
    pub(super) fn back(&self, limits: &Limits) -> Vec<Box<dyn EntryStage>> {
        let mut stages: Vec<Box<dyn EntryStage>> = Vec::new();
        if !self.replace.is_empty() {
            stages.push(Box::new(ReplaceStage::new(Arc::clone(&self.replace))));
        }
        let anywhere = self.dedup.as_ref().filter(|dedup| dedup.everywhere);
        if let Some(CompiledDedup { max_unique, similarity, .. }) = anywhere {
            let most = if *max_unique == 0 { dedup_anywhere::MAX_WAITING } else { *max_unique };
            stages.push(Box::new(DedupAnywhere::new(Arc::clone(similarity), most, held(limits))));
        }
        if let Some(group) = &self.group {
            stages.push(Box::new(GroupStage::new(Arc::clone(group), held(limits))));
        }
        if let Some(CompiledDedup { everywhere: false, similarity, .. }) = &self.dedup {
            stages.push(Box::new(DedupAdjacent::new(Arc::clone(similarity))));
        }
        stages
    }
}

fn compile_sections(
    rule: &'static str,
    specs: &[SectionSpec],
    keeps: bool,
    allowance: &mut RegexBudget,
) -> Result<Vec<CompiledSection>, Error> {
    let mut single = |part, entry, text: &str| single(rule, part, entry, text, allowance);
    let mut sections = Vec::with_capacity(specs.len());
    for (entry, SectionSpec { from, end }) in specs.iter().enumerate() {
        sections.push(CompiledSection {
            keeps,
            from: single("from", entry, from)?,
            end: match end {
                None => None,
                Some(SectionEnd::To(text)) => Some((true, single("to", entry, text)?)),
                Some(SectionEnd::Before(text)) => Some((false, single("before", entry, text)?)),
            },
        });
    }
    Ok(sections)
}

fn compile_replacements(
    rule: &'static str,
    specs: Vec<ReplaceSpec>,
    allowance: &mut RegexBudget,
) -> Result<Vec<CompiledReplacement>, Error> {
    let mut replacements = Vec::with_capacity(specs.len());
    for (entry, ReplaceSpec { pattern, with }) in specs.into_iter().enumerate() {
        let pattern = single(rule, "pattern", entry, &pattern, allowance)?;
        replacements.push(CompiledReplacement { pattern, with: with.into_bytes() });
    }
    Ok(replacements)
}

/// Bytes that one stage may hold.
pub(super) fn held(limits: &Limits) -> usize {
    usize::try_from(limits.held()).unwrap_or(usize::MAX)
}
