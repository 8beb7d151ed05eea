//! A route of a gateway: which responses it is for, and what happens to them.

use super::action::Action;
use super::filter::HttpFilter;
use super::when::Conditions;
use crate::config::Config;

/// A route: conditions, and what happens to the responses for which they hold.
#[derive(Clone, Debug)]
pub struct Route {
    pub(super) name: String,
    pub(super) when: Conditions,
    pub(super) rule: RouteRule,
}

/// The treatment of a response.
#[derive(Clone, Debug)]
pub enum RouteRule {
    /// It passes or is refused.
    Act(Action),
    /// It is filtered as a document, lines, events or a text.
    Filter(Box<HttpFilter>),
    /// Requests and responses are messages of MCP.
    Mcp(Box<Config>),
    /// The response is a stored result, whose handle is the last segment of the path.
    Recall,
}

impl Route {
    /// Returns the name for logs and metrics.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the conditions.
    #[must_use]
    pub fn when(&self) -> &Conditions {
        &self.when
    }

    /// Returns what happens to the response.
    #[must_use]
    pub fn rule(&self) -> &RouteRule {
        &self.rule
    }
}
