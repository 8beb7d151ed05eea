//! Compiles a [`Spec`](crate::Spec) into the data that a run needs: tries, tables and programs.
//!
//! [`program`] is the entry. The other files each compile one group of rules. Nothing here knows a document or a run.

pub(super) mod call;
pub(super) mod conditions;
pub(super) mod content;
pub(super) mod derived;
pub(super) mod edits;
pub(super) mod items;
pub(super) mod json_strings;
pub(super) mod member_tests;
pub(super) mod nested;
pub(super) mod output;
pub(super) mod patches;
pub(super) mod program;
pub(super) mod projections;
pub(super) mod rule_paths;
pub(super) mod select;
pub(super) mod select_source;
pub(super) mod shape;
pub(super) mod size_policy;
pub(super) mod stages;
pub(super) mod when;
