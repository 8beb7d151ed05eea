//! The result of a replay: sums over sessions, per variant, agent, tool, command and filter.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::cost::{Amount, PromptParts, Usage};
use crate::facts::FactKind;
use crate::shown::Variant;
use crate::transcript::Skipped;

/// The result of a replay.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Files that were read, and their bytes.
    pub files: u64,
    /// The bytes of these files.
    pub bytes: u64,
    /// Files of no known agent.
    pub unknown_files: u64,
    /// Sessions.
    pub sessions: u64,
    /// Results of tools.
    pub results: u64,
    /// Results that read an earlier one again: a file that the agent kept, or one that tamis stored.
    pub read_backs: u64,
    /// Results that tamis had filtered when they were recorded.
    pub filtered_before: u64,
    /// Results of which the transcript has only a part, because the agent cut them. No filter is applied to these.
    pub incomplete: u64,
    /// Results that the agent cut and of which the transcript has all, and how many of these the model of the agent cuts alike.
    pub cut_by_agent: u64,
    /// See [`cut_by_agent`](Self::cut_by_agent).
    pub cut_alike: u64,
    /// Entries that could not be read.
    pub skipped: Skipped,
    /// Facts that were not followed, because a session has too many.
    pub facts_left_out: u64,
    /// Whether tokens are counted instead of estimated.
    pub exact_tokens: bool,
    /// The unit of costs.
    pub unit: String,
    /// Requests to models without a price. They cost nothing in the sums.
    pub unpriced_requests: u64,
    /// The variants. The first is the agent itself.
    pub variants: Vec<VariantReport>,
    /// The place of the variant that is judged.
    pub subject: usize,
    /// The agents, by name.
    pub agents: BTreeMap<String, AgentReport>,
    /// Tools, by agent and name: for each variant its figures.
    pub tools: Vec<GroupReport>,
    /// For the drawing: agent, tool and program, with the figures of each variant.
    #[serde(skip)]
    pub(crate) places: Vec<(Vec<String>, Vec<Figures>)>,
    /// Commands, by the name of their program.
    pub commands: Vec<GroupReport>,
    /// Filters of the judged variant.
    pub filters: Vec<GroupReport>,
    /// The results that lost most in the judged variant.
    pub examples: Vec<Example>,
}

/// The sums of a variant.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct VariantReport {
    /// Its name.
    pub name: String,
    /// The variant itself.
    #[serde(skip)]
    pub variant: Option<Variant>,
    /// Its figures.
    pub figures: Figures,
    /// The later-used facts of each kind.
    pub kinds: BTreeMap<&'static str, Facts>,
    /// Facts that the agent itself hid, and that were used all the same: how many of these the variant shows.
    pub beyond_agent: Facts,
    /// Results of which the model would have to fetch a part, because it used a fact that is not shown.
    pub fetches: u64,
    /// The cost of that, in the unit of costs: a request, and 4,096 tokens that are carried from then on.
    pub fetch_cost: f64,
}

/// Figures of results.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// Results.
    pub results: u64,
    /// Results whose text differs from the one that the model received.
    pub changed: u64,
    /// Bytes that are shown.
    pub bytes: u64,
    /// Their tokens.
    pub tokens: u64,
    /// These tokens, once for each request that sends them.
    pub carried_tokens: u64,
    /// Their cost, in the unit of costs.
    pub cost: f64,
    /// The later-used facts that the agent itself shows.
    pub facts: Facts,
}

/// The fate of later-used facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Facts {
    /// They are in the text.
    pub shown: u64,
    /// They can be fetched.
    pub fetchable: u64,
    /// They cannot be had.
    pub gone: u64,
}

impl Facts {
    /// Returns the number of facts.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.shown + self.fetchable + self.gone
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.shown += other.shown;
        self.fetchable += other.fetchable;
        self.gone += other.gone;
    }

    pub(crate) fn count(&mut self, fate: Fate) {
        match fate {
            Fate::Shown => self.shown += 1,
            Fate::Fetchable => self.fetchable += 1,
            Fate::Gone => self.gone += 1,
        }
    }
}

/// The fate of one fact under a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is in the text.
    Shown,
    /// It can be fetched.
    Fetchable,
    /// It cannot be had.
    Gone,
}

impl Figures {
    pub(crate) fn add(&mut self, other: &Self) {
        self.results += other.results;
        self.changed += other.changed;
        self.bytes += other.bytes;
        self.tokens += other.tokens;
        self.carried_tokens += other.carried_tokens;
        self.cost += other.cost;
        self.facts.add(&other.facts);
    }
}

/// An agent.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct AgentReport {
    /// The versions that are recorded.
    pub versions: Vec<String>,
    /// Sessions.
    pub sessions: u64,
    /// Requests to models.
    pub requests: u64,
    /// The recorded usage, by model.
    pub usage: BTreeMap<String, ModelReport>,
    /// By how much the prompts of its requests grew, for those whose new parts are known, less what the model wrote.
    pub recorded_growth: u64,
    /// The estimate for the same parts.
    pub estimated_growth: u64,
    /// The prompts of its requests, without the first of each session.
    pub prompts: PromptReport,
}

/// Prompts in two parts, with their costs in the unit of costs (for a million tokens, if there are prices).
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct PromptReport {
    /// Tokens that an earlier request had sent.
    pub old_tokens: u64,
    /// Their cost.
    pub old_cost: f64,
    /// New tokens.
    pub new_tokens: u64,
    /// Their cost.
    pub new_cost: f64,
}

impl PromptReport {
    pub(crate) fn add(&mut self, parts: &PromptParts) {
        self.old_tokens += parts.old_tokens;
        self.old_cost += parts.old_cost / 1e6;
        self.new_tokens += parts.new_tokens;
        self.new_cost += parts.new_cost / 1e6;
    }

    /// Returns the cost of a new token, and that of one that was sent before.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "prices")]
    pub fn prices(&self) -> Option<(f64, f64)> {
        let enough = self.old_tokens >= 1_000 && self.new_tokens >= 1_000;
        let (new, old) =
            (self.new_cost / self.new_tokens as f64, self.old_cost / self.old_tokens as f64);
        (enough && old > 0.0).then_some((new, old))
    }

    /// Returns after how many requests it pays to remove as many old tokens as are kept after them: those that are kept are new
    /// once more, and those that are removed no longer cost anything.
    #[must_use]
    pub fn break_even(&self) -> Option<f64> {
        let (new, old) = self.prices()?;
        Some((new - old).max(0.0) / old)
    }
}

impl AgentReport {
    /// Returns how many recorded tokens there are for an estimated one.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a proportion")]
    pub fn factor(&self) -> Option<f64> {
        let enough = self.estimated_growth >= 1_000;
        enough.then(|| self.recorded_growth as f64 / self.estimated_growth as f64)
    }
}

/// The usage of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ModelReport {
    /// Requests.
    pub requests: u64,
    /// Their tokens, as recorded.
    pub usage: Usage,
    /// Their cost, in millionths of the unit for a million tokens, or of an input token. `None`: the model has no price.
    #[serde(serialize_with = "as_text")]
    pub cost: Option<Amount>,
}

/// Figures of the results of a tool, of a command or under a filter.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct GroupReport {
    /// The agent, for tools.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The name of the tool, of the program or of the filter.
    pub name: String,
    /// The figures of each variant.
    pub variants: Vec<Figures>,
}

/// A result that lost facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Example {
    /// The file of the transcript.
    pub file: String,
    /// The line of the result, or the part of its session.
    pub place: u64,
    /// The agent.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The command line.
    pub command: Option<String>,
    /// The filter.
    pub filter: Option<String>,
    /// The tokens that the agent itself shows, and those of the variant.
    pub tokens: [u64; 2],
    /// The facts of the result under the variant.
    pub facts: Facts,
    /// Some of the facts that are not shown.
    pub lost: Vec<LostFact>,
}

/// A fact that is not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LostFact {
    /// Its kind.
    pub kind: FactKind,
    /// The beginning of its text.
    pub text: String,
    /// Where it was used.
    pub used_at: u64,
    /// Its fate.
    pub fate: Fate,
}

/// A later-used fact.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FactUse<'a> {
    /// The beginning of its text.
    pub text: &'a str,
    /// Its kind.
    pub kind: FactKind,
    /// The agent.
    pub agent: &'a str,
    /// The tool whose result had it.
    pub tool: &'a str,
    /// The command line.
    pub command: Option<&'a str>,
    /// The transcript.
    pub file: &'a str,
    /// The place of the result.
    pub result_at: u64,
    /// The place of the use.
    pub used_at: u64,
    /// Its fate under each variant, in the order of the variants of the report.
    pub fates: &'a [Fate],
}

/// Writes an amount as a string of digits: it may be larger than the numbers of many readers.
fn as_text<S: Serializer>(amount: &Option<Amount>, serializer: S) -> Result<S::Ok, S::Error> {
    match amount {
        Some(amount) => serializer.collect_str(amount),
        None => serializer.serialize_none(),
    }
}

impl Report {
    /// Returns the share of the facts that the judged variant shows, of those that the agent itself shows. `None`: no fact was used.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a share")]
    pub fn share_shown(&self) -> Option<f64> {
        let facts = self.variants.get(self.subject)?.figures.facts;
        (facts.all() > 0).then(|| facts.shown as f64 / facts.all() as f64)
    }

    /// Returns the sum of the recorded usage.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for model in self.agents.values().flat_map(|agent| agent.usage.values()) {
            sum += model.usage;
        }
        sum
    }

    /// Returns the sum of the costs of all models that have a price.
    #[must_use]
    pub fn cost(&self) -> Amount {
        self.agents
            .values()
            .flat_map(|agent| agent.usage.values())
            .filter_map(|model| model.cost)
            .sum()
    }
}
