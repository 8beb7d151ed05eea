//! Agents of which only MCP servers can be filtered: none of their hooks replaces an output without a say in permissions.

use super::title;
use crate::agent::Agent;
use crate::install::plan::Planner;

pub(super) fn install(planner: &mut Planner<'_>, agent: Agent) {
    let title = title(agent);
    if agent == Agent::Goose {
        planner.note(
            "Goose: its configuration is YAML, which is not edited; in each extension of the type `stdio` in \
             ~/.config/goose/config.yaml, write the path of tamis-gateway as `cmd`, and `mcp`, `--` and the old `cmd` before \
             its `args`",
        );
        return;
    }
    planner.note(format!("{title}: only its MCP servers are filtered, with --mcp"));
    if agent == Agent::Crush {
        planner.note("Crush: servers that the script crushrc adds are not wrapped; crush.json is");
    }
}
