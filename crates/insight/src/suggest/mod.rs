//! Suggests a filter from sample responses, and compares new responses with a filter.
//!
//! A filter has to be written for each tool. [`Samples`] counts what is at each path of some responses.
//! [`Samples::suggest`] proposes a careful filter, which omits only noise: ids and addresses for programs, pictures, files,
//! nulls. [`Samples::suggest_tight`] proposes one that selects identifiers, titles, states, people, dates and amounts. Every
//! line has the reason and the measured effect. [`Drift`] finds out whether the responses still are what a filter was
//! written for.
//!
//! ```
//! use tamis_insight::suggest::Samples;
//!
//! let mut samples = Samples::new();
//! samples.read(br#"[{"id": 1, "title": "a", "avatar_url": "https://a.example/1"}]"#)?;
//! let suggestion = samples.suggest("crm.list");
//! assert_eq!(suggestion.root(), "first");
//! assert!(suggestion.manifest().contains("- avatar_url  # address"));
//! assert!(samples.suggest_tight("crm.list").manifest().contains("title: title"));
//! # Ok::<(), tamis::Error>(())
//! ```

// The steps, one file each: `sample` counts (with `shape`, `template` and `personal`), `root` finds the items, `rank` scores the
// members (with `names` and `words`), `noise` finds those to omit, `choose` chooses among the others, `sources` writes paths,
// and `suggestion` writes the manifest.

mod choose;
pub(crate) mod credentials;
mod drift;
mod names;
mod noise;
mod personal;
mod rank;
mod root;
mod sample;
mod shape;
mod sources;
mod suggestion;
mod template;
#[cfg(test)]
mod tests;
mod words;

pub use drift::{Drift, DriftReport, HeavyMember};
pub use names::MemberKind;
pub use sample::{SampleReader, Samples};
pub use suggestion::{Member, Suggestion};
