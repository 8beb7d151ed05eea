//! [`WrappedScript`]: the script that Claude Code makes of a command of the model.
//!
//! ```text
//! source SNAPSHOT 2>/dev/null || true && … && eval 'COMMAND' < /dev/null && pwd -P >| FILE
//! source SNAPSHOT 2>/dev/null || true && … && { eval COMMAND < /dev/null; } && pwd -P >| FILE
//! ```
//!
//! Only the part from `eval` to the end is read. The text before it prepares the shell, and may be anything: the user's
//! environment file is in it (`CLAUDE_ENV_FILE`), and variables, tests and subshells, which differ between versions and
//! settings. A command of one word without special characters has no quotes. Seen in 2.1.330 and 2.1.332.

/// Claude Code ends each script around a command of the model in this way, before the name of a file. Also a script that is
/// not understood is run by the shell that it is for.
pub(super) const END_OF_SCRIPT: &str = " && pwd -P >| ";

/// A command of the model in the script around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedScript {
    /// The command, as the model wrote it.
    pub command: String,
}

impl WrappedScript {
    /// Reads a script. `None`: it has another form.
    ///
    /// ```
    /// use tamis_agents::hook::shell::WrappedScript;
    ///
    /// let script = r#"source /s/snapshot-zsh-1-a.sh 2>/dev/null || true && eval 'echo '"'"'a b'"'"'' < /dev/null && pwd -P >| /tmp/cwd"#;
    /// let script = WrappedScript::parse(script).unwrap();
    /// assert_eq!(script.command, "echo 'a b'");
    /// assert_eq!(WrappedScript::parse("node server.js stdio"), None);
    /// ```
    #[must_use]
    pub fn parse(script: &str) -> Option<Self> {
        for (at, eval) in script.match_indices("eval ") {
            let before = script.get(..at)?;
            let (before, is_group) = match before.strip_suffix("{ ") {
                Some(before) => (before, true),
                None => (before, false),
            };
            if !before.is_empty() && !before.ends_with("&& ") {
                continue;
            }
            let Some((command, rest)) = literal(script.get(at + eval.len()..)?) else { continue };
            // The first command that is evaluated is the only one, or the output of two would be mixed.
            return is_end(rest, is_group).then_some(Self { command });
        }
        None
    }
}

/// Returns whether a text is the end of a script after the command.
fn is_end(rest: &str, is_group: bool) -> bool {
    let rest = rest.strip_prefix(" < /dev/null").unwrap_or(rest);
    let rest = if is_group { rest.strip_prefix("; }") } else { Some(rest) };
    let file = rest.and_then(|rest| rest.strip_prefix(END_OF_SCRIPT));
    file.and_then(literal).is_some_and(|(_, rest)| rest.is_empty())
}

/// Reads a word that a shell reads as it is written, without its quotes. `None`: the shell replaces a part of it.
fn literal(script: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = script.char_indices();
    let rest = loop {
        let Some((at, char)) = chars.next() else { break "" };
        match char {
            '\'' => loop {
                match chars.next()?.1 {
                    '\'' => break,
                    char => text.push(char),
                }
            },
            '"' => loop {
                match chars.next()?.1 {
                    '"' => break,
                    '$' | '`' => return None,
                    '\\' => match chars.next()?.1 {
                        char @ ('"' | '\\' | '$' | '`') => text.push(char),
                        char => text.extend(['\\', char]),
                    },
                    char => text.push(char),
                }
            },
            '\\' => text.push(chars.next()?.1),
            '$' | '`' | '(' | ')' | '#' | '*' | '?' | '[' | '~' | '{' | '}' | '!' => return None,
            ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break script.get(at..)?,
            char => text.push(char),
        }
    };
    // An empty word has quotes.
    (rest.len() < script.len()).then_some((text, rest))
}

#[cfg(test)]
mod tests {
    use super::WrappedScript;

    const BEFORE: &str = r"source /home/a b/snapshot-bash-17-x.sh";

    fn script(eval: &str) -> String {
        format!(
            "source '/home/a b/.claude/shell-snapshots/snapshot-bash-17-x.sh' 2>/dev/null || true && {{ \\builtin \
             shopt -u extglob || \\builtin setopt NO_EXTENDED_GLOB; }} >/dev/null 2>&1 || true && {{ \\builtin unalias \
             -- 'which'; }} >/dev/null 2>&1 || true && {eval} && pwd -P >| /tmp/claude-1-cwd"
        )
    }

    #[test]
    fn commands_in_their_scripts() {
        for (eval, command) in [
            ("eval 'ls' < /dev/null", "ls"),
            ("eval 'cat <<'\"'\"'E'\"'\"'\nit'\"'\"'s $HOME\nE'", "cat <<'E'\nit's $HOME\nE"),
            (
                "eval 'echo a && false || echo b; exit 7' < /dev/null",
                "echo a && false || echo b; exit 7",
            ),
            ("eval 'A='\\''b'\\''' < /dev/null", "A='b'"),
            ("eval \"echo it's\" < /dev/null", "echo it's"),
            ("eval '' < /dev/null", ""),
            ("eval 'x' < /dev/null && eval 'y' < /dev/null", ""),
            ("eval pytest < /dev/null", "pytest"),
            ("eval './a-b_c.sh' < /dev/null", "./a-b_c.sh"),
            ("eval 'ls' < /dev/zero", ""),
            ("eval \"$X\" < /dev/null", ""),
            ("export A=\"${A:+$A }'b'\" C=\"$HOME/x\" && eval 'ls' < /dev/null", "ls"),
            ("export A=\"${A:+\"x y\"}\" && eval 'ls' < /dev/null", "ls"),
            ("export A=\"$(x '\"' \"$(y)\")\" && eval 'ls' < /dev/null", "ls"),
            ("export PATH=\"${PATH:+$PATH:}\"'/a b' && eval 'ls' < /dev/null", "ls"),
            ("{ case $T in *[![:alnum:]/]*) false;; esac; } && eval 'ls' < /dev/null", "ls"),
            ("( LC_ALL=C \\builtin eval ': \"${a^^}\"' ) && eval 'ls' < /dev/null", "ls"),
            ("# it's\neval \"$(x)\"\ncat <<E\nit's\nE\n: && eval 'ls' < /dev/null", "ls"),
            ("a && eval \"$(b)\" && eval 'ls' < /dev/null", "ls"),
            ("{ eval 'ls -l' < /dev/null; }", "ls -l"),
            ("{ eval 'cat <<E\nx\nE'; }", "cat <<E\nx\nE"),
            ("eval 'a && eval '\"'\"'b'\"'\"'' < /dev/null", "a && eval 'b'"),
            ("{ eval 'ls' < /dev/null; eval 'ls' < /dev/null; }", ""),
            ("{ eval 'ls' < /dev/null }", ""),
            ("eval 'ls' < /dev/null; }", ""),
            ("eval 'ls' x < /dev/null", ""),
            ("eval ~/x < /dev/null", ""),
            ("eval  < /dev/null", ""),
            ("'eval' \"'eval' $CMD\"", ""),
            ("evil 'ls' < /dev/null", ""),
        ] {
            let parsed = WrappedScript::parse(&script(eval));
            let is_empty = eval.starts_with("eval ''");
            match command {
                "" if !is_empty => assert_eq!(parsed, None, "{eval}"),
                command => {
                    let Some(parsed) = parsed else { panic!("{eval} is not understood") };
                    assert_eq!(parsed.command, command, "{eval}");
                }
            }
        }
    }

    #[test]
    fn scripts_without_a_snapshot() {
        let script = WrappedScript::parse("eval 'ls' < /dev/null && pwd -P >| '/tmp/a b'").unwrap();
        assert_eq!(script.command, "ls");
    }

    #[test]
    fn other_arguments() {
        for argument in [
            "",
            "node server.js stdio",
            "python3 /home/user/hook.py",
            "eval 'ls'",
            "eval 'ls' < /dev/null && pwd -P > /tmp/x",
            "eval 'ls' < /dev/null; pwd -P >| /tmp/x",
            "eval 'ls' < /dev/null && pwd -P >| /tmp/x && rm y",
            "eval 'ls' < /dev/null && pwd -P >| /tmp/x\nrm y",
            "false || eval 'ls' < /dev/null && pwd -P >| /tmp/x",
            "eval 'ls' < /dev/null && pwd -P >| $(x)",
            "echo \"eval 'ls' && pwd -P >| x\"",
            "sh -c 'eval x'",
            BEFORE,
        ] {
            assert_eq!(WrappedScript::parse(argument), None, "{argument}");
        }
    }
}
