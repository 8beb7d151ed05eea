//! The order of the routes of a file: names that occur twice, and routes that an earlier one makes useless.

use std::collections::HashMap;

use tamis_manifest::Diagnostic;
use tamis_manifest::error::Text;

use super::route::{Route, RouteRule};

/// The routes that were read so far.
#[derive(Debug, Default)]
pub(super) struct RouteOrder {
    /// The line of each name.
    names: HashMap<String, usize>,
    /// The name and line of the route that every request matches.
    catches_all: Option<(String, usize)>,
    /// The routes that depend on the response, with their lines.
    asking: Vec<(Route, usize)>,
}

impl RouteOrder {
    /// Adds a route whose place and whose name's place are these bytes of the file.
    ///
    /// # Errors
    /// The route cannot be used after the earlier ones.
    pub(super) fn add(
        &mut self,
        route: &Route,
        [at, name_at]: [usize; 2],
        source: &Text<'_>,
    ) -> Result<(), Diagnostic> {
        if let Some((name, line)) = &self.catches_all {
            let message = format!(
                "this route is never reached: `{name}` in line {line} matches all requests"
            );
            return Err(source.problem(at, message));
        }
        if let Some(line) = self.names.insert(route.name.clone(), source.line(name_at)) {
            let message = format!("the name `{}` is already used in line {line}", route.name);
            return Err(source.problem(name_at, message));
        }
        if matches!(route.rule, RouteRule::Mcp(_)) {
            // Requests are read before the response is known, so such a request would be refused.
            let earlier = self.asking.iter().find(|(other, _)| other.when.overlap(&route.when));
            if let Some((other, line)) = earlier {
                let message = format!(
                    "a route with `mcp` must be before routes with `status` or `media_type` that match the same requests: \
                     `{}` in line {line}",
                    other.name
                );
                return Err(source.problem(at, message));
            }
        }
        if route.when.match_all() {
            self.catches_all = Some((route.name.clone(), source.line(at)));
        } else if route.when.ask_response() {
            self.asking.push((route.clone(), source.line(at)));
        }
        Ok(())
    }
}
