//! The compiled rules for a history.

use std::borrow::Cow;
use std::sync::Arc;

use tamis_json::error::{Error, ErrorKind};
use tamis_json::glob;
use tamis_json::key;
use tamis_json::limits::Limits;

use super::findings::{Edit, EditKind};
use super::placeholder::{Facts, Placeholder};
use super::spec::{PLACEHOLDER, PruneSpec};
#[cfg(feature = "tokio")]
use tamis_json::limits::SpillGate;
use tamis_json::test_work::{WorkKind, count};

/// The maximum of `keep_head` and `keep_tail` in characters: the characters at the end of a text are held until it is complete.
const MOST_KEPT: u64 = 65_536;
/// The maximum number of patterns for tool names.
const MOST_PATTERNS: usize = 10_000;

/// A compiled [`PruneSpec`]. Immutable, cheap to clone, can be shared between threads.
///
/// ```
/// use tamis::ErrorKind;
/// use tamis_chat::{PruneProgram, PruneSpec};
///
/// assert!(PruneProgram::compile(&PruneSpec::new().placeholder("[{tool}: {bytes} bytes]")).is_ok());
/// let error = PruneProgram::compile(&PruneSpec::new().placeholder("[{name}]")).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Spec);
/// ```
#[derive(Clone, Debug)]
pub struct PruneProgram(Arc<CompiledPrune>);

#[derive(Clone, Debug)]
pub(super) struct CompiledPrune {
    pub(super) spec: PruneSpec,
    pub(super) placeholder: Placeholder,
    /// The default placeholder, which is recognized whatever `placeholder` is.
    pub(super) plain: Placeholder,
    pub(super) limits: Limits,
    /// The placeholder as the inside of a JSON string, if it is the same for every result.
    fixed: Option<Vec<u8>>,
    /// The length in bytes of the longest text that could be a placeholder.
    pub(super) longest: usize,
}

impl PruneProgram {
    /// Compiles the rules, for runs with default [`Limits`].
    ///
    /// # Errors
    /// [`ErrorKind::Spec`] for a placeholder that has an unknown field or a single brace, consists only of fields, or is longer than
    /// 1,024 bytes; for more than 65,536 characters to keep; and for more than 10,000 protected tools.
    pub fn compile(spec: &PruneSpec) -> Result<Self, Error> {
        let wrong = |message: String| Err(Error::new(ErrorKind::Spec, message));
        // A new rule must not compile until it is checked here and applied by `Plan` or by the placeholder.
        let PruneSpec {
            keep_head,
            keep_tail,
            protected,
            placeholder,
            count_tokens: _,
            keep_turns: _,
            now: _,
            protect_tokens: _,
            minimum_tokens: _,
            stop_at_summary: _,
            min_gain: _,
            only_shorter: _,
        } = spec;
        for (rule, &characters) in [("keep_head", keep_head), ("keep_tail", keep_tail)] {
            if characters > MOST_KEPT {
                return wrong(format!("{rule}: {characters} characters, more than {MOST_KEPT}"));
            }
        }
        if protected.len() > MOST_PATTERNS {
            return wrong(format!("protected: more than {MOST_PATTERNS} names"));
        }
        let placeholder = Placeholder::parse(placeholder)?;
        let plain = Placeholder::parse(PLACEHOLDER)?;
        let longest = placeholder.longest().max(plain.longest());
        let fixed = placeholder.fixed().map(|text| escaped(&text));
        let (spec, limits) = (spec.clone(), Limits::new());
        let compiled = CompiledPrune { spec, placeholder, plain, limits, fixed, longest };
        Ok(Self(Arc::new(compiled)))
    }

    /// Returns the program with other limits, of which `depth`, `key`, `held` and `spill` apply.
    ///
    /// `held` and `spill` limit the history if it is read from a pipe, and for every history a few bytes per result and turn. The
    /// names of tools and the ids of calls without a result so far are held in memory only.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self(Arc::new(CompiledPrune { limits, ..CompiledPrune::clone(&self.0) }))
    }

    /// Returns the program with limits that have a gate for the bytes that its runs hold.
    #[cfg(feature = "tokio")]
    pub(crate) fn with_spill_gate(&self, gate: &SpillGate) -> Self {
        self.clone().with_limits(self.0.limits.clone().with_spill_gate(gate))
    }

    /// Returns the rules that this program was compiled from.
    #[must_use]
    pub fn spec(&self) -> &PruneSpec {
        &self.0.spec
    }

    pub(super) fn compiled(&self) -> &CompiledPrune {
        &self.0
    }
}

impl CompiledPrune {
    /// Returns whether the results of a tool are protected. The name of an unknown tool is empty.
    pub(super) fn protects(&self, tool: &str) -> bool {
        let fits = |pattern: &String| pattern == tool || glob::fits(pattern, tool);
        self.spec.protected.iter().any(fits)
    }

    /// Returns whether `text` is a placeholder already.
    pub(super) fn is_placeholder(&self, text: &[u8], tool: &str, id: &str) -> bool {
        self.plain.fits(text, "", "") || self.placeholder.fits(text, tool, id)
    }

    /// Returns the bytes that replace what an edit removes.
    pub(super) fn replacement(&self, edit: Edit, facts: Facts<'_>, now: u64) -> Cow<'_, [u8]> {
        count(WorkKind::History, 1);
        let inside = || self.inside(facts);
        let wrapped = |before: &str, after: &str| {
            [before.as_bytes(), &inside(), after.as_bytes()].concat().into()
        };
        let text = match edit.act {
            EditKind::Inside => return inside(),
            EditKind::Text => return wrapped(r#"""#, r#"""#),
            EditKind::TextList => return wrapped(r#"[{"type":"text","text":""#, r#""}]"#),
            EditKind::InputTextList => {
                return wrapped(r#"[{"type":"input_text","text":""#, r#""}]"#);
            }
            EditKind::BareTextList => return wrapped(r#"[{"text":""#, r#""}]"#),
            EditKind::Output => return wrapped(r#"{"output":""#, r#""}"#),
            EditKind::ToolOutput => return wrapped(r#"{"type":"text","value":""#, r#""}"#),
            EditKind::EmptyList => return b"[]".into(),
            EditKind::Now => now.to_string(),
            EditKind::NowInTime => format!(r#"{{"compacted":{now}}}"#),
            EditKind::NowInMetadata => format!(r#"{{"time":{{"compacted":{now}}}}}"#),
            EditKind::AddCompacted => format!(r#","compacted":{now}"#),
            EditKind::AddFirstCompacted => format!(r#""compacted":{now}"#),
            EditKind::AddTime => format!(r#","time":{{"compacted":{now}}}"#),
            EditKind::AddFirstTime => format!(r#""time":{{"compacted":{now}}}"#),
            EditKind::AddMetadata => format!(r#","metadata":{{"time":{{"compacted":{now}}}}}"#),
        };
        text.into_bytes().into()
    }

    /// Returns the placeholder of a result as the inside of a JSON string.
    pub(super) fn inside(&self, facts: Facts<'_>) -> Cow<'_, [u8]> {
        match &self.fixed {
            Some(fixed) => fixed.into(),
            None => escaped(&self.placeholder.render(facts)).into(),
        }
    }

    /// Returns whether a part of a text is kept.
    pub(super) fn is_partial(&self) -> bool {
        self.spec.keep_head > 0 || self.spec.keep_tail > 0
    }
}

/// Escapes a text as the inside of a JSON string.
fn escaped(text: &str) -> Vec<u8> {
    let mut quoted = key::quote(text);
    quoted.pop();
    quoted.drain(..1);
    quoted
}
