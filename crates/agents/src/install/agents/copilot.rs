//! Copilot CLI: nothing but MCP servers can be filtered without a say in permissions. Untested.

use crate::install::plan::Planner;

pub(super) fn install(planner: &mut Planner<'_>) {
    planner.note("Copilot CLI: untested; its hooks cannot replace an output, so only MCP servers are filtered, with --mcp");
}
