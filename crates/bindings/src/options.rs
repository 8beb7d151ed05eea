//! Options as JSON text: rules, the options of a call, rules for a history.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tamis::spec::{Budget, Omitted, OnOver, Prefer};
use tamis::{CallOptions, Limits};

use crate::error::BindingError;

/// The options of one call, in addition to the program.
#[derive(Clone, Debug)]
pub struct BindingCall(pub(crate) CallOptions);

impl Default for BindingCall {
    fn default() -> Self {
        Self(CallMembers::default().into())
    }
}

/// The members of the options, with the names of [`CallOptions`] and [`Limits`].
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CallMembers {
    raw: bool,
    is_error: bool,
    budget: Option<Budget>,
    min_items: Option<u64>,
    omitted: Option<Omitted>,
    on_over: Option<OnOver>,
    prefer: Option<Prefer>,
    lines: bool,
    only_summary: bool,
    suggestions: bool,
    depth: Option<usize>,
    key: Option<usize>,
    held: Option<u64>,
    spill: Option<u64>,
    item: Option<u64>,
    line: Option<usize>,
}

impl BindingCall {
    /// Reads options.
    ///
    /// # Errors
    /// Fails if the text is not an object, or has a member that is not known.
    ///
    /// ```
    /// use tamis_bindings::BindingCall;
    ///
    /// assert!(BindingCall::parse(r#"{"budget": {"bytes": 400}, "held": 65536}"#).is_ok());
    /// let error = BindingCall::parse(r#"{"bugdet": {"bytes": 400}}"#).unwrap_err();
    /// assert!(error.message.starts_with("unknown field `bugdet`; did you mean `budget`?"));
    /// ```
    pub fn parse(json: &str) -> Result<Self, BindingError> {
        let members: CallMembers = read(json)?;
        Ok(Self(members.into()))
    }
}

impl From<CallMembers> for CallOptions {
    fn from(members: CallMembers) -> Self {
        let mut options = Self::new()
            .with_token_counter(tamis_tokens::o200k_base())
            .with_raw(members.raw)
            .with_is_error(members.is_error)
            .with_lines(members.lines)
            .with_only_summary(members.only_summary)
            .with_suggestions(members.suggestions)
            .with_limits(members.limits());
        if let Some(budget) = members.budget {
            options = options.with_budget(budget);
        }
        if let Some(items) = members.min_items {
            options = options.with_min_items(items);
        }
        if let Some(omitted) = members.omitted {
            options = options.with_omitted(omitted);
        }
        if let Some(on_over) = members.on_over {
            options = options.with_on_over(on_over);
        }
        if let Some(prefer) = members.prefer {
            options = options.with_prefer(prefer);
        }
        options
    }
}

impl CallMembers {
    fn limits(&self) -> Limits {
        let mut limits = Limits::new();
        if let Some(containers) = self.depth {
            limits = limits.with_depth(containers);
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
        if let Some(bytes) = self.line {
            limits = limits.with_line(bytes);
        }
        limits
    }
}

/// Reads a type that refuses unknown members.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, BindingError> {
    serde_json::from_str(json).map_err(|error| BindingError::options(&error))
}
