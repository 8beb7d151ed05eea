//! An explanation in words.

use std::fmt;

use super::{Bounds, Does, Explanation, Holds, Mode, Stage};
use crate::limits::Limits;
use crate::spec::{
    DuplicateKeys, Omitted, OnError, OnOver, OnTestFailure, Root, Siblings, Validation, Whitespace,
};

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Hold => "hold",
            Self::Tree => "tree",
        })
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan: {}", self.mode)?;
        match self.skipped {
            None => {}
            Some("error_response") => writeln!(
                f,
                "skipped: the call failed; rules that select, cut or sum up items do not apply, and nothing is a miss"
            )?,
            Some(_) => {
                let extracts =
                    self.stages.iter().any(|stage| matches!(stage.does, Does::Extract { .. }));
                let which = if extracts { "no rule but extract" } else { "no rule" };
                writeln!(f, "skipped: raw output was asked for; {which} applies")?;
            }
        }
        let validation = match self.validation {
            Validation::Full => "full: RFC 8259, the whole document, dropped values too",
            Validation::Structure => {
                "structure: of dropped values strings, brackets and UTF-8 only; kept ones in full"
            }
        };
        // What may be any text is not validated.
        let text = |stage: &Stage| matches!(stage.does, Does::Pass | Does::Content { .. });
        if !self.stages.iter().any(text) {
            writeln!(f, "validation: {validation}")?;
        }
        let whitespace = match self.whitespace {
            Whitespace::Minify => "minify",
            Whitespace::Keep => "keep: as it stands in front of what is kept",
        };
        if !self.stages.iter().any(text) {
            writeln!(f, "white space: {whitespace}")?;
        }
        if let Some(duplicates) = self.duplicate_keys {
            let duplicates = match duplicates {
                DuplicateKeys::First => {
                    "first: of selected members and of the payload the first counts"
                }
                DuplicateKeys::Count => {
                    "count: of selected members and of the payload the first counts; all others are counted"
                }
                DuplicateKeys::Reject => {
                    "reject: a second selected member or payload of one name is an error"
                }
            };
            writeln!(f, "duplicate keys: {duplicates}")?;
        }
        self.fmt_stages(f)?;
        for branch in &self.branches {
            let test = branch.test.as_deref().map_or("no branch holds", |test| test);
            writeln!(f, "\n{}: where {}", branch.name, Plain(test))?;
            branch.explanation.fmt_stages(f)?;
        }
        Ok(())
    }
}

impl Explanation {
    fn fmt_stages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (stage, number) in self.stages.iter().zip(1..) {
            writeln!(f, "\n{number}. {}: {}", stage.does.name(), stage.mode)?;
            stage.fmt(f, &self.limits)?;
        }
        if let Some(miss) = &self.total_miss {
            let on_error = match miss.on_error {
                OnError::Raw => "raw",
                OnError::Closed => "closed",
            };
            let default = if miss.default { " (the default here)" } else { "" };
            writeln!(f, "\non a total miss: {on_error}{default}\n   {}", miss.effect)?;
        }
        Ok(())
    }
}

impl Does {
    fn name(&self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Extract { .. } => "extract",
            Self::When { .. } => "when",
            Self::Retain { .. } => "retain",
            Self::Patches { .. } => "patches",
            Self::Root { .. } => "root",
            Self::Refuse => "refuse",
            Self::MaxItems { .. } => "max_items",
            Self::Select { .. } => "select",
            Self::Exclude { .. } => "exclude",
            Self::DropNulls => "drop_nulls",
            Self::DropEmpty => "drop_empty",
            Self::TextSpec => "text_filter",
            Self::Budget { .. } => "budget",
            Self::Mark => "mark",
            Self::Compact => "compact",
            Self::Pass => "pass",
            Self::Content { .. } => "content",
            Self::Wrap => "wrap",
        }
    }
}

impl Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>, limits: &Bounds) -> fmt::Result {
        match &self.does {
            Does::Validate => writeln!(f, "   the document passes")?,
            Does::Extract { path, optional } => {
                let without = if *optional { "the document as it is" } else { "an error" };
                let path = Plain(path);
                writeln!(f, "   the value at {path} is the document; without it, {without}")?;
            }
            Does::Retain { paths } => {
                paths.drawn().try_for_each(|line| writeln!(f, "   {line}"))?;
                writeln!(f, "   everything else goes; names reach through arrays")?;
            }
            Does::When { otherwise } => {
                writeln!(f, "   the first branch applies whose test holds; they are below")?;
                writeln!(f, "   a member on the path of a test that comes twice is an error")?;
                if *otherwise == "error" {
                    writeln!(f, "   where none holds: an error, and no output")?;
                }
            }
            Does::Patches { operations, lenient_remove, on_test_failure, tree } => {
                for operation in operations {
                    writeln!(f, "   {}", Plain(operation))?;
                }
                if *lenient_remove {
                    writeln!(f, "   what is to be removed need not be there")?;
                }
                match on_test_failure {
                    Some(OnTestFailure::Fail) => {
                        writeln!(f, "   if a test fails, so does the whole sequence")?;
                    }
                    Some(OnTestFailure::Stop) => {
                        writeln!(
                            f,
                            "   if a test fails, the rest is not applied; what was applied stays"
                        )?;
                    }
                    None => {}
                }
                if let Some(why) = tree {
                    writeln!(f, "   needs a tree: {}", Plain(why))?;
                }
            }
            Does::Root { root, siblings, or_array } => {
                writeln!(f, "   {}", Where(root))?;
                if *or_array {
                    writeln!(
                        f,
                        "   if nothing that is selected is found in it: its array `items`, else `result`, else `data`,\n   \
                         else its first array"
                    )?;
                }
                match siblings {
                    _ if *root == Root::Object => {}
                    Siblings::Keep => writeln!(f, "   members beside it pass unchanged")?,
                    Siblings::Drop => writeln!(f, "   members beside it go")?,
                }
            }
            Does::Refuse => writeln!(
                f,
                "   an error, and no output: only what is selected may leave (`on_error: closed`), and the call failed"
            )?,
            Does::MaxItems { count, stop_early } => {
                let rest = if *stop_early {
                    "reading stops at the next one, and what follows is not validated"
                } else {
                    "the others are read, validated and counted"
                };
                match count {
                    1 => writeln!(f, "   the first item stays; {rest}")?,
                    count => writeln!(f, "   the first {} items stay; {rest}", Number(*count))?,
                }
            }
            Does::Select { paths, early_skip } => {
                paths.drawn().try_for_each(|line| writeln!(f, "   {line}"))?;
                let on = if early_skip.on { "on" } else { "off" };
                let count = paths.len() as u64;
                let paths = if count == 1 { "path" } else { "paths" };
                writeln!(f, "   {} {paths}; early skip {on}: {}", Number(count), early_skip.why)?;
            }
            Does::Exclude { paths } => {
                paths.drawn().try_for_each(|line| writeln!(f, "   {line}"))?;
                writeln!(f, "   every duplicate too; names reach through arrays")?;
            }
            Does::Pass => writeln!(f, "   the document passes, whatever it is")?,
            Does::Wrap => writeln!(f, "   a document that is no array becomes the element of one")?,
            Does::Content { content } => {
                let fields = match content.extract.as_slice() {
                    [] => "content, else text, else body".to_owned(),
                    paths => paths.join(", "),
                };
                writeln!(f, "   of a page its main text; of JSON the text of {}", Plain(&fields))?;
                if content.max_tokens > 0 {
                    let tokens = Number(content.max_tokens);
                    writeln!(
                        f,
                        "   at most {tokens} tokens, cut behind a paragraph, a sentence or a word"
                    )?;
                }
                writeln!(f, "   where there is no text, the document as it is")?;
            }
            Does::TextSpec => {
                writeln!(f, "   the lines of a text in the document's member `raw` are filtered")?;
            }
            Does::Budget { budget, min_items, omitted, on_over } => {
                let least = match min_items {
                    0 => "all of them if need be".to_owned(),
                    1 => "but the first is kept".to_owned(),
                    count => format!("but the first {} are kept", Number(*count)),
                };
                writeln!(f, "   at most {budget}")?;
                writeln!(f, "   too long: items are dropped from the end, {least}")?;
                writeln!(
                    f,
                    "   still too long: long strings are cut, then every array and object keeps"
                )?;
                writeln!(f, "   its first 64, 32, 16, 8, 4, 2 or 1 elements or members")?;
                let over = match on_over {
                    OnOver::Error => "an error, and no output",
                    _ => "the output is too long, with a warning",
                };
                writeln!(f, "   still too long: {over}")?;
                if *omitted == Omitted::Mark {
                    writeln!(
                        f,
                        "   a member `_omitted` says how many items and members are missing"
                    )?;
                }
            }
            Does::Mark => {
                writeln!(f, "   a member `_omitted` says how many items are missing")?;
            }
            Does::Compact => {
                writeln!(
                    f,
                    "   an array of items becomes text, made by templates; an object stays"
                )?;
            }
            Does::DropNulls => {
                writeln!(
                    f,
                    "   members that are null go, at every depth of an item; elements stay"
                )?;
            }
            Does::DropEmpty => {
                writeln!(
                    f,
                    "   members that are \"\", [] or {{}} go, after all other drops; elements stay"
                )?;
            }
        }
        self.holds.iter().try_for_each(|holds| holds.fmt(f, limits))
    }
}

impl Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>, limits: &Bounds) -> fmt::Result {
        writeln!(f, "   holds {} until {}", self.what, self.until)?;
        let default = Bounds::from(&Limits::new());
        let said = |now: u64, default: u64| if now == default { ", the default" } else { "" };
        if self.limits.contains(&"item") {
            let said = said(limits.item, default.item);
            writeln!(f, "     at most {} (limit item{said})", Size(limits.item))?;
        } else {
            let (held, spill) = (Size(limits.held), Size(limits.spill));
            let held_said = said(limits.held, default.held);
            let spill_said = said(limits.spill, default.spill);
            write!(f, "     at most {held} in memory (limit held{held_said}), then ")?;
            if limits.spill == 0 {
                writeln!(f, "an error: nothing on disk (limit spill)")?;
            } else {
                writeln!(f, "{spill} in a temporary file (limit spill{spill_said})")?;
            }
        }
        match self.instead {
            Some(instead) => writeln!(f, "     instead: {instead}"),
            None => Ok(()),
        }
    }
}

/// Where the payload is.
struct Where<'a>(&'a Root);

impl fmt::Display for Where<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Root::Auto => f.write_str(
                "auto: the document if it is an array; of an object its array `items`, else `result`, else `data`,\n   \
                 else its first array; else the object itself",
            ),
            Root::First => f.write_str("first: the document if it is an array, else its first array"),
            Root::Object => f.write_str("object: the document itself, whatever arrays it has"),
            Root::At(path) => write!(f, "the value at {}", Plain(path)),
        }
    }
}

/// A path on one line, whatever it has.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.0.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char });
        plain.collect::<String>().fmt(f)
    }
}

/// A number with its thousands apart.
struct Number(u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// A number of bytes, in the largest unit in which it is whole.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 > 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{} {unit}", Number(self.0 >> shift));
            }
        }
        write!(f, "{} bytes", Number(self.0))
    }
}
