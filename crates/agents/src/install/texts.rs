//! The files that an installation writes as a whole.

use super::places::Scope;

/// The line by which a shell script of ours is recognised.
pub(crate) const SCRIPT_MARKER: &str = "# Written by `tamis install claude-code`.";

/// The line by which a plugin of ours is recognised.
pub(crate) const PLUGIN_MARKER: &str = "// Written by `tamis install opencode`.";

/// The line by which the manifest of our extension is recognised.
pub(crate) const EXTENSION_MARKER: &str = "\"name\": \"tamis\",";

/// Returns the program that starts the shell commands of Claude Code. Its argument is a script.
pub(crate) fn shell_script(scope: Scope) -> String {
    format!(
        "#!/bin/sh\n{SCRIPT_MARKER}\n\
# Claude Code starts every shell command, hook and MCP server with it. `tamis uninstall claude-code` removes it.\n\
if command -v tamis >/dev/null 2>&1; then\n  exec tamis hook shell --config {} \"$1\"\nfi\n\
case $1 in\n*/snapshot-zsh-*) shell=zsh ;;\n*/snapshot-bash-*) shell=bash ;;\n*) shell=${{SHELL:-bash}} ;;\nesac\n\
command -v \"$shell\" >/dev/null 2>&1 || shell=/bin/sh\nexec \"$shell\" -c \"$1\"\n",
        scope.as_str()
    )
}

/// Returns the plugin for opencode.
pub(crate) fn opencode_plugin(scope: Scope) -> String {
    PLUGIN.replace("CONFIG", scope.as_str()).replace("MARKER", PLUGIN_MARKER)
}

const PLUGIN: &str = r#"MARKER
// Filters the output of tools. `tamis uninstall opencode` removes it.
import { spawn } from "node:child_process"

function filter(event) {
  return new Promise((resolve) => {
    const done = (text) => { clearTimeout(timer); resolve(text) }
    const child = spawn("tamis", ["hook", "opencode", "--config", "CONFIG"], { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => { child.kill("SIGKILL"); resolve("") }, 20000)
    let text = ""
    child.on("error", () => done(""))
    child.stdin.on("error", () => {})
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (part) => { text += part })
    child.on("close", (code) => done(code === 0 ? text : ""))
    child.stdin.end(JSON.stringify(event))
  })
}

export const Tamis = async () => ({
  "tool.execute.after": async (input, output) => {
    try {
      const { tool, args } = input
      const event = output.content
        ? { tool, args, content: output.content }
        : { tool, args, output: output.output, metadata: output.metadata }
      const text = await filter(event)
      if (!text) return
      const filtered = JSON.parse(text)
      if (typeof filtered.output === "string") output.output = filtered.output
      if (Array.isArray(filtered.content)) output.content = filtered.content
    } catch {}
  },
})
"#;
