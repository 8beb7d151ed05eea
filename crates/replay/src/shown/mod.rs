//! The views of a result, one for each variant.
//!
//! ```text
//! result ─▶ wrapping: the output of the command ─▶ filters: tamis as installed, or with a manifest ─▶ agent: its own cut ─▶ View
//!      └──▶ cuts: a limit, head, tail
//! ```

pub(crate) mod agent;
mod cuts;
mod filters;
mod wrapping;

use serde::Serialize;
use tamis_agents::agent::Agent;

pub use filters::{FilterSettings, ReplayError};

use crate::transcript::event::ToolResult;

/// The most variants of a run.
pub(crate) const MOST_VARIANTS: usize = 16;

/// A way to show results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Variant {
    /// The agent without tamis.
    Agent,
    /// tamis as `tamis install` sets it up, with the user's `tamis.yaml`.
    Installed,
    /// tamis as installed, after other files of rules.
    Manifest,
    /// tamis' cut of every text at a number of tokens.
    Limit(u64),
    /// The beginning of every text, with as many bytes as the subject of the run shows.
    Head,
    /// The end, likewise.
    Tail,
    /// Both, likewise.
    HeadTail,
}

impl Variant {
    /// Returns the name in tables and reports.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Agent => "agent itself".to_owned(),
            Self::Installed => "tamis as installed".to_owned(),
            Self::Manifest => "tamis with manifest".to_owned(),
            Self::Limit(tokens) => format!("cut at {tokens} tokens"),
            Self::Head => "head, same bytes".to_owned(),
            Self::Tail => "tail, same bytes".to_owned(),
            Self::HeadTail => "head+tail, same bytes".to_owned(),
        }
    }
}

/// A result as a variant shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// The text. `None`: the one that the model received.
    pub(crate) text: Option<String>,
    pub(crate) rest: Rest,
    /// The filter that made the text.
    pub(crate) filter: Option<String>,
}

/// The fate of the part that is not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It cannot be had.
    #[default]
    Gone,
    /// All of it can be fetched.
    Kept,
    /// This text can be fetched.
    Stored(String),
}

/// The variants of a run.
#[derive(Debug)]
pub(crate) struct Variants {
    pub(crate) list: Vec<Variant>,
    filters: filters::Filters,
}

impl Variants {
    pub(crate) fn new(list: Vec<Variant>, settings: FilterSettings) -> Result<Self, ReplayError> {
        let mut list = list;
        list.truncate(MOST_VARIANTS);
        Ok(Self { list, filters: filters::Filters::new(settings)? })
    }

    /// Returns the place of the variant that is judged: the most special one that the user asked for.
    pub(crate) fn subject(&self) -> usize {
        let special = |variant: &Variant| matches!(variant, Variant::Limit(_) | Variant::Manifest);
        let place = |test: &dyn Fn(&Variant) -> bool| self.list.iter().position(test);
        place(&|variant| *variant == Variant::Manifest)
            .or_else(|| place(&special))
            .or_else(|| place(&|variant| *variant == Variant::Installed))
            .unwrap_or(0)
    }

    /// Returns what each variant shows of a result.
    pub(crate) fn views(&mut self, agent: Agent, result: &ToolResult) -> Vec<View> {
        let as_received = || View {
            text: None,
            rest: if result.is_kept { Rest::Kept } else { Rest::Gone },
            filter: None,
        };
        let mut views = Vec::with_capacity(self.list.len());
        for variant in self.list.clone() {
            let view = match variant {
                Variant::Agent => None,
                Variant::Installed => self.filters.installed(agent, result),
                Variant::Manifest => self.filters.with_manifest(agent, result),
                Variant::Limit(tokens) => cuts::limit(agent, result, tokens),
                // After the subject is known.
                Variant::Head | Variant::Tail | Variant::HeadTail => None,
            };
            views.push(view.unwrap_or_else(as_received));
        }
        let bytes = views.get(self.subject()).and_then(|view| Some(view.text.as_ref()?.len()));
        if let Some(bytes) = bytes {
            for (variant, view) in self.list.iter().zip(&mut views) {
                if matches!(variant, Variant::Head | Variant::Tail | Variant::HeadTail) {
                    let text = Some(cuts::baseline(*variant, result, bytes));
                    *view = View { text, rest: Rest::Gone, filter: None };
                }
            }
        }
        views
    }
}

/// Returns the text of a result as the tool wrote it, as far as the transcript has it.
pub(crate) fn source(result: &ToolResult) -> &str {
    result.full.as_deref().unwrap_or(&result.received)
}
