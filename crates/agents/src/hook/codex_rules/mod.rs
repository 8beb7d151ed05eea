//! The rules of Codex for commands: whether they judge a command and its rewritten form equally.
//!
//! Codex reads the files `rules/*.rules` of every layer: of the system, of the user, and of the folders of a trusted
//! project. They are Starlark; the common ones consist of calls `prefix_rule(pattern = […], decision = "…")`. The
//! strictest decision of all rules that match a command wins, and a rule that allows also lifts the sandbox.
//!
//! ```text
//! layers ── starlark ─▶ PrefixRule ─▶ RuleLayers::judge_equally(before, after)
//! ```
//!
//! It is not known which layers are active: that depends on flags and on trust. So both commands must be judged equally
//! by *each* layer. Then they are judged equally by any set of layers, and the rewritten command can do no more and no
//! less than the original. If any file cannot be read or is not understood, or if an administrator manages the rules,
//! nothing is rewritten.

mod layers;
mod managed;
mod places;
mod prefix_rule;
pub mod session;
mod starlark;

pub use layers::{RuleLayers, RulesUnknown};
pub use places::RulePlaces;
pub use prefix_rule::{PrefixRule, RuleDecision};
