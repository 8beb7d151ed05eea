//! The options of a call, as they are written in cases.

use serde::Deserialize;
use tamis::spec::{Budget, Omitted, OnOver, Prefer};
use tamis::{CallOptions, Limits};

/// The table `options` of a case.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    raw: bool,
    is_error: bool,
    budget: Option<Budget>,
    omitted: Option<Omitted>,
    on_over: Option<OnOver>,
    prefer: Option<Prefer>,
    lines: bool,
    only_summary: bool,
    depth: Option<usize>,
    key: Option<usize>,
    held: Option<u64>,
    spill: Option<u64>,
    item: Option<u64>,
}

impl Options {
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::new();
        if let Some(depth) = self.depth {
            limits = limits.with_depth(depth);
        }
        if let Some(bytes) = self.key {
            limits = limits.with_key(bytes);
        }
        if let Some(bytes) = self.held {
            limits = limits.with_held(bytes);
        }
        if let Some(bytes) = self.spill {
            limits = limits.with_spill(bytes);
        }
        if let Some(bytes) = self.item {
            limits = limits.with_item(bytes);
        }
        limits
    }

    pub fn call(&self) -> CallOptions {
        let options = crate::call_options()
            .with_raw(self.raw)
            .with_is_error(self.is_error)
            .with_lines(self.lines)
            .with_only_summary(self.only_summary);
        let options = match self.budget {
            Some(budget) => options.with_budget(budget),
            None => options,
        };
        let options = match self.omitted {
            Some(omitted) => options.with_omitted(omitted),
            None => options,
        };
        let options = match self.on_over {
            Some(on_over) => options.with_on_over(on_over),
            None => options,
        };
        let options = match self.prefer {
            Some(prefer) => options.with_prefer(prefer),
            None => options,
        };
        options.with_limits(self.limits())
    }
}
