//! Prints an explanation as text.

use std::fmt::{self, Write as _};

use tamis_json::limits::Limits;

use super::explanation::{Explanation, LimitValues};
use super::stage::{HoldExplanation, JsonStringExplanation, PASS, StageAction, StageExplanation};
use crate::spec::{
    DuplicateKeys, JsonStringFallback, Omitted, OnError, OnOver, OnTestFailure, Prefer, Root,
    SecretLevel, Siblings, Validation, Whitespace,
};

/// How a budget chooses that prefers information.
const INFORMATION: &str =
    "   too long: items are kept that are evenly spread, and their long strings are cut first.
   Where long strings have a third of the bytes, or few items would fit, failures in logs are kept
   first, then the values and passages with the most new names, numbers and words for each byte.
   `_omitted` counts what is missing in a list or object, `...` stands for it in a string.
";

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "plan: {}", self.mode)?;
        match self.skipped {
            None => {}
            Some("error_response") => writeln!(
                f,
                "skipped: the call failed; rules that select, limit or summarise items do not apply, and nothing is a miss"
            )?,
            Some(_) => {
                let extracts = self
                    .stages
                    .iter()
                    .any(|stage| matches!(stage.does, StageAction::Extract { .. }));
                let which = if extracts { "no rule but extract" } else { "no rule" };
                writeln!(f, "skipped: raw output was requested; {which} applies")?;
            }
        }
        let validation = match self.validation {
            Validation::Full => "full: RFC 8259, the whole document, dropped values too",
            Validation::Structure => {
                "structure: dropped values are checked for strings, brackets and UTF-8 only; kept values in full"
            }
        };
        // Documents that may be any text are not validated.
        let text = |stage: &StageExplanation| {
            matches!(
                stage.does,
                StageAction::Plain { name: PASS, .. } | StageAction::Content { .. }
            )
        };
        if !self.stages.iter().any(text) {
            writeln!(f, "validation: {validation}")?;
        }
        let whitespace = match self.whitespace {
            Whitespace::Minify => "minify",
            Whitespace::Keep => "keep: the white space before kept values",
        };
        if !self.stages.iter().any(text) {
            writeln!(f, "white space: {whitespace}")?;
        }
        if let Some(duplicates) = self.duplicate_keys {
            let duplicates = match duplicates {
                DuplicateKeys::First => {
                    "first: the first selected member or payload of a name is used"
                }
                DuplicateKeys::Count => {
                    "count: the first selected member or payload of a name is used; duplicates are counted"
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
            writeln!(f, "\n{}: where {}", branch.branch, OneLine(test))?;
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

impl StageAction {
    fn name(&self) -> &'static str {
        match self {
            Self::Extract { .. } => "extract",
            Self::JsonStrings { .. } => "json_strings",
            Self::When { .. } => "when",
            Self::Retain { .. } => "retain",
            Self::Patches { .. } => "patches",
            Self::Root { .. } => "root",
            Self::Where { .. } => "where",
            Self::MaxItems { .. } => "max_items",
            Self::Select { .. } => "select",
            Self::Exclude { .. } => "exclude",
            Self::Omit { .. } => "omit",
            Self::Requires { .. } => "requires",
            Self::OmitBase64Over { .. } => "omit_base64_over",
            Self::Redact { .. } => "redact",
            Self::Budget { .. } => "budget",
            Self::Encode { .. } => "encode",
            Self::Content { .. } => "content",
            Self::Plain { name, .. } => name,
        }
    }
}

impl StageExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>, limits: &LimitValues) -> fmt::Result {
        match &self.does {
            StageAction::Extract { path, optional } => {
                let without = if *optional { "the document as it is" } else { "an error" };
                let path = OneLine(path);
                writeln!(f, "   the value at {path} is the document; without it, {without}")?;
            }
            StageAction::JsonStrings { entries } => {
                for entry in entries {
                    fmt_json_strings(f, entry)?;
                }
            }
            StageAction::Retain { paths } => {
                paths.drawn().try_for_each(|line| writeln!(f, "   {line}"))?;
                writeln!(f, "   everything else is removed; names match inside arrays")?;
            }
            StageAction::When { otherwise } => {
                writeln!(
                    f,
                    "   the first branch whose test holds applies; the branches are listed below"
                )?;
                writeln!(f, "   a duplicate member on the path of a test is an error")?;
                if *otherwise == "error" {
                    writeln!(f, "   if none holds: an error without output")?;
                }
            }
            StageAction::Patches { operations, lenient_remove, on_test_failure, tree } => {
                for operation in operations {
                    writeln!(f, "   {}", OneLine(operation))?;
                }
                if *lenient_remove {
                    writeln!(f, "   removing a missing value is allowed")?;
                }
                match on_test_failure {
                    Some(OnTestFailure::Fail) => {
                        writeln!(f, "   if a test fails, so does the whole sequence")?;
                    }
                    Some(OnTestFailure::Stop) => {
                        writeln!(
                            f,
                            "   if a test fails, the rest is not applied; earlier operations are kept"
                        )?;
                    }
                    None => {}
                }
                if let Some(why) = tree {
                    writeln!(f, "   needs a tree: {}", OneLine(why))?;
                }
            }
            StageAction::Root { root, siblings, or_array } => {
                writeln!(f, "   {}", RootText(root))?;
                if *or_array {
                    writeln!(
                        f,
                        "   if nothing that is selected is found in it: its array `items`, else `result`, else `data`,\n   \
                         else its first array"
                    )?;
                }
                match siblings {
                    _ if *root == Root::Object => {}
                    Siblings::Keep => writeln!(f, "   siblings are kept unchanged")?,
                    Siblings::Drop => writeln!(f, "   siblings are removed")?,
                }
            }
            StageAction::Where { conditions } => {
                conditions.iter().try_for_each(|condition| writeln!(f, "   {condition}"))?;
                writeln!(
                    f,
                    "   items for which all of these hold are kept, and other values than objects"
                )?;
            }
            StageAction::MaxItems { count, stop_early } => {
                let rest = if *stop_early {
                    "reading stops at the next one, and what follows is not validated"
                } else {
                    "the others are read, validated and counted"
                };
                match count {
                    1 => writeln!(f, "   the first item is kept; {rest}")?,
                    count => writeln!(
                        f,
                        "   the first {} items are kept; {rest}",
                        GroupedNumber(*count)
                    )?,
                }
            }
            StageAction::Select { paths, early_skip } => {
                paths.drawn().try_for_each(|line| writeln!(f, "   {line}"))?;
                let on = if early_skip.on { "on" } else { "off" };
                let count = paths.len() as u64;
                let paths = if count == 1 { "path" } else { "paths" };
                writeln!(
                    f,
                    "   {} {paths}; early skip {on}: {}",
                    GroupedNumber(count),
                    early_skip.why
                )?;
            }
            StageAction::Exclude { paths } => {
                paths.drawn().try_for_each(|line| writeln!(f, "   {line}"))?;
                writeln!(f, "   including duplicates; names match inside arrays")?;
            }
            StageAction::Requires { paths, is_error } => {
                let otherwise = match is_error {
                    true => "an error, because a rule removes for safety",
                    false => "only json_strings, redact and the budget apply",
                };
                writeln!(f, "   {}", OneLine(&paths.join(", ")))?;
                writeln!(f, "   if the document lacks one of them: {otherwise}")?;
            }
            StageAction::Omit { paths } => {
                paths.drawn().try_for_each(|line| writeln!(f, "   {line}"))?;
                writeln!(
                    f,
                    "   only saves: what is left out can be fetched where results are stored"
                )?;
            }
            StageAction::Content { content } => {
                let fields = match content.extract.as_slice() {
                    [] => "content, else text, else body".to_owned(),
                    paths => paths.join(", "),
                };
                writeln!(
                    f,
                    "   the main text of a page; from JSON, the text of {}",
                    OneLine(&fields)
                )?;
                if content.max_tokens > 0 {
                    let tokens = GroupedNumber(content.max_tokens);
                    writeln!(
                        f,
                        "   at most {tokens} tokens, cut after a paragraph, a sentence or a word"
                    )?;
                }
                writeln!(f, "   without text, the document is unchanged")?;
            }
            StageAction::OmitBase64Over { over } => {
                let over = GroupedNumber(*over);
                writeln!(
                    f,
                    "   strings of base64 and data: URLs of more than {over} bytes are replaced by a mark"
                )?;
            }
            StageAction::Redact { redact } => {
                if !redact.paths.is_empty() {
                    let with = redact.with.as_deref().unwrap_or("[redacted]");
                    writeln!(f, "   replaced by {with}: {}", redact.paths.join(", "))?;
                }
                if redact.secrets.is_some() {
                    writeln!(f, "   credentials in strings and keys are replaced")?;
                }
                if redact.secrets == Some(SecretLevel::Aggressive) {
                    writeln!(f, "   so is random text after names such as key and token")?;
                }
                if redact.personal {
                    writeln!(f, "   personal data in strings, keys and numbers are replaced")?;
                }
                if !redact.patterns.is_empty() {
                    let names: Vec<_> = redact.patterns.iter().map(|(name, _)| &**name).collect();
                    writeln!(f, "   patterns are replaced: {}", names.join(", "))?;
                }
            }
            StageAction::Budget { budget, prefer: Prefer::Information, .. } => {
                writeln!(f, "   at most {budget}")?;
                f.write_str(INFORMATION)?;
            }
            StageAction::Budget { budget, min_items, omitted, on_over, .. } => {
                let least = match min_items {
                    0 => "all of them if need be".to_owned(),
                    1 => "but the first is kept".to_owned(),
                    count => format!("but the first {} are kept", GroupedNumber(*count)),
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
            StageAction::Encode { form } => {
                let form = form.as_str();
                writeln!(f, "   the document is written as {form}; as JSON if that is impossible")?;
            }
            StageAction::Plain { text, .. } => writeln!(f, "   {text}")?,
        }
        self.holds.iter().try_for_each(|holds| holds.fmt(f, limits))
    }
}

/// Prints an entry of `json_strings`, with the stages of its rules.
fn fmt_json_strings(f: &mut fmt::Formatter<'_>, entry: &JsonStringExplanation) -> fmt::Result {
    let JsonStringExplanation { at, otherwise, same, apply } = entry;
    let at = if at.is_empty() { "the document" } else { at };
    writeln!(
        f,
        "   the JSON in strings at {} is filtered; names match inside arrays",
        OneLine(at)
    )?;
    let other = match otherwise {
        JsonStringFallback::Keep => "kept",
        JsonStringFallback::Drop => "dropped",
        JsonStringFallback::Error => "an error",
    };
    writeln!(f, "   a value there that is not a string with JSON is {other}")?;
    if *same {
        return writeln!(f, "   the rules are those of this filter");
    }
    // Rules that are inside those of another entry are further to the right.
    let mut stages = String::new();
    for (stage, number) in apply.stages.iter().zip(1..) {
        writeln!(stages, "{number}. {}: {}", stage.does.name(), stage.mode)?;
        write!(stages, "{}", StageText(stage, &apply.limits))?;
    }
    stages.lines().try_for_each(|line| writeln!(f, "     {line}"))
}

/// Prints the lines of a stage.
struct StageText<'a>(&'a StageExplanation, &'a LimitValues);

impl fmt::Display for StageText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f, self.1)
    }
}

impl HoldExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>, limits: &LimitValues) -> fmt::Result {
        writeln!(f, "   holds {} until {}", self.what, self.until)?;
        let default = LimitValues::from(&Limits::new());
        let said = |now: u64, default: u64| if now == default { ", the default" } else { "" };
        if self.limits.contains(&"item") {
            let said = said(limits.item, default.item);
            writeln!(f, "     at most {} (limit item{said})", ByteSize(limits.item))?;
        } else {
            let (held, spill) = (ByteSize(limits.held), ByteSize(limits.spill));
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

/// The location of the payload.
struct RootText<'a>(&'a Root);

impl fmt::Display for RootText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Root::Auto => f.write_str(
                "auto: the document if it is an array; of an object its array `items`, else `result`, else `data`,\n   \
                 else its first array; else the object itself",
            ),
            Root::First => f.write_str("first: the document if it is an array, else its first array"),
            Root::Object => f.write_str("object: the document itself, whatever arrays it has"),
            Root::At(path) => write!(f, "the value at {}", OneLine(path)),
        }
    }
}

/// Prints a path on one line.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.0.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char });
        plain.collect::<String>().fmt(f)
    }
}

/// Prints a number with thousands separators.
struct GroupedNumber(u64);

impl fmt::Display for GroupedNumber {
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

/// Prints a number of bytes in the largest unit that divides it.
struct ByteSize(u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 > 0 && self.0.trailing_zeros() >= shift {
                return write!(f, "{} {unit}", GroupedNumber(self.0 >> shift));
            }
        }
        write!(f, "{} bytes", GroupedNumber(self.0))
    }
}
