//! Replays recorded sessions of coding agents: which facts of tool results were used later, and which of them a filter shows.
//!
//! **Internal: no stable API.** The command `tamis replay` is made of it.
//!
//! ```text
//! files ─▶ transcript: events ─▶ session ─▶ report ─▶ table, page
//!                                  │ ├─ shown: what each variant shows of a result
//!                                  │ ├─ facts: who has a fact first, and who uses it
//!                                  │ └─ cost: usage, prices, what it costs to carry a result
//!                                  └─ open_result: a result whose session has not ended
//! ```
//!
//! Nothing is sent anywhere, and nothing is written. Memory does not grow with the transcripts.
//!
//! ```
//! use tamis_replay::{Replay, ReplayOptions, FilterSettings, Variant};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("session.jsonl");
//! std::fs::write(&path, concat!(
//!     r#"{"sessionId":"s","uuid":"1","type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}"#, "\n",
//!     r#"{"sessionId":"s","uuid":"2","type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"src/harbour.rs\nsrc/pier.rs"}]}}"#, "\n",
//!     r#"{"sessionId":"s","uuid":"3","type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"It is in src/harbour.rs."}]}}"#, "\n",
//! ))?;
//! let options = ReplayOptions::new(FilterSettings::plain()).with_variants([Variant::Agent, Variant::Installed]);
//! let mut replay = Replay::new(options)?;
//! replay.read(&path)?;
//! let report = replay.finish();
//! // The path, and the name of the file.
//! assert_eq!(report.variants[1].figures.facts.shown, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cost;
mod facts;
mod figures;
mod open_result;
mod page;
mod report;
mod session;
mod shown;
mod table;
mod transcript;

use std::fmt;
use std::path::Path;

pub use facts::FactKind;
pub use page::to_page;
pub use report::{
    AgentReport, Example, FactUse, Facts, Fate, Figures, GroupReport, LostFact, ModelReport,
    PromptReport, Report, VariantReport,
};
pub use session::FactObserver;
pub use shown::{FilterSettings, ReplayError, Variant};
pub use table::to_table;
pub use transcript::{Skipped, TranscriptError, TranscriptPlaces, find, last_session_of_opencode};

use cost::Prices;
use session::Sessions;
use shown::Variants;
use transcript::seen::Seen;

/// The options of a replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    settings: FilterSettings,
    variants: Vec<Variant>,
    prices: Prices,
    examples: usize,
    exact_tokens: bool,
}

impl ReplayOptions {
    /// Compares the agent itself with tamis as installed.
    #[must_use]
    pub fn new(settings: FilterSettings) -> Self {
        Self {
            settings,
            variants: vec![Variant::Agent, Variant::Installed],
            prices: Prices::default(),
            examples: 5,
            exact_tokens: false,
        }
    }

    /// Sets the variants. The agent itself is always the first.
    #[must_use]
    pub fn with_variants(mut self, variants: impl IntoIterator<Item = Variant>) -> Self {
        self.variants = vec![Variant::Agent];
        for variant in variants {
            if !self.variants.contains(&variant) {
                self.variants.push(variant);
            }
        }
        self
    }

    /// Sets the prices.
    #[must_use]
    pub fn with_prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// Sets how many examples the report has.
    #[must_use]
    pub fn with_examples(mut self, examples: usize) -> Self {
        self.examples = examples;
        self
    }

    /// Sets whether tokens are counted instead of estimated.
    #[must_use]
    pub fn with_exact_tokens(mut self, exact: bool) -> Self {
        self.exact_tokens = exact;
        self
    }
}

/// A replay of any number of transcripts.
pub struct Replay<'a> {
    sessions: Sessions<'a>,
    seen: Seen,
    skipped: Skipped,
}

impl<'a> Replay<'a> {
    /// Prepares a replay.
    ///
    /// # Errors
    /// The rules cannot be used.
    pub fn new(options: ReplayOptions) -> Result<Self, ReplayError> {
        Self::with(options, None)
    }

    /// Prepares a replay that calls `observer` with each later-used fact.
    ///
    /// # Errors
    /// The rules cannot be used.
    pub fn with_observer(
        options: ReplayOptions,
        observer: &'a mut FactObserver<'a>,
    ) -> Result<Self, ReplayError> {
        Self::with(options, Some(observer))
    }

    fn with(
        options: ReplayOptions,
        observer: Option<&'a mut FactObserver<'a>>,
    ) -> Result<Self, ReplayError> {
        let ReplayOptions { settings, variants, prices, examples, exact_tokens } = options;
        let variants = Variants::new(variants, settings)?;
        let sessions = Sessions::new(variants, prices, examples, exact_tokens, observer);
        Ok(Self { sessions, seen: Seen::default(), skipped: Skipped::default() })
    }

    /// Reads a transcript. A file of no known agent is counted.
    ///
    /// # Errors
    /// The file cannot be read. The part before the error counts.
    pub fn read(&mut self, path: &Path) -> Result<(), TranscriptError> {
        self.sessions.file(path.display().to_string());
        let Self { sessions, seen, skipped } = self;
        match transcript::read(path, sessions, seen, skipped)? {
            Some(bytes) => {
                sessions.report.files += 1;
                sessions.report.bytes += bytes;
            }
            None => sessions.report.unknown_files += 1,
        }
        Ok(())
    }

    /// Ends the replay and returns its report.
    #[must_use]
    pub fn finish(self) -> Report {
        let mut report = self.sessions.into_report();
        report.skipped = self.skipped;
        report
    }
}

impl fmt::Debug for Replay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("skipped", &self.skipped).finish_non_exhaustive()
    }
}
