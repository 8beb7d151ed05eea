//! The files that an installation writes as a whole, and the lines by which they are recognised.

use std::path::Path;

use tamis_mcp::config::ConfigFiles;

use super::places::Scope;
use crate::hook::opencode;

/// A line of the script for Claude Code.
pub(crate) const SCRIPT_MARKER: &str =
    "# Written by `tamis install claude-code`, removed by `tamis uninstall claude-code`.";

/// A line of the plugin for opencode.
pub(crate) const PLUGIN_MARKER: &str =
    "// Written by `tamis install opencode`, removed by `tamis uninstall opencode`.";

/// A line of the manifest of the extension for Gemini CLI.
pub(crate) const EXTENSION_MARKER: &str =
    "\"description\": \"Filters the output of tools. Written by `tamis install gemini`.\",";

fn files(scope: Scope) -> ConfigFiles {
    match scope {
        Scope::User => ConfigFiles::User,
        Scope::Project => ConfigFiles::Both,
    }
}

/// Returns the program that starts the shell commands of Claude Code. `None` on systems without a POSIX shell.
pub(crate) fn shell_script(scope: Scope, program: &Path) -> Option<String> {
    #[cfg(unix)]
    return Some(crate::hook::shell::prefix_script(files(scope), program));
    #[cfg(not(unix))]
    {
        let _ = (scope, program);
        None
    }
}

/// Returns the plugin for opencode.
pub(crate) fn opencode_plugin(scope: Scope, program: &Path) -> String {
    opencode::plugin(files(scope), program)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{PLUGIN_MARKER, SCRIPT_MARKER, Scope, opencode_plugin, shell_script};

    /// Files with other lines would not be recognised, and not be removed.
    #[test]
    fn markers_are_in_the_files() {
        for scope in [Scope::User, Scope::Project] {
            let config = format!("--config {}", scope.as_str());
            let program = Path::new("/home/a b/tamis");
            if let Some(script) = shell_script(scope, program) {
                assert!(script.contains("\ntamis='/home/a b/tamis'\n"), "{script}");
                assert_eq!(script.lines().nth(1), Some(SCRIPT_MARKER));
                assert!(script.contains(&config), "{script}");
            }
            let plugin = opencode_plugin(scope, program);
            assert_eq!(plugin.lines().next(), Some(PLUGIN_MARKER));
            assert!(plugin.contains(&format!("\"{}\"", scope.as_str())), "{plugin}");
            assert!(plugin.contains("\nconst PROGRAM = \"/home/a b/tamis\"\n"), "{plugin}");
        }
    }
}
