//! [`WrappedScript`]: the script that Claude Code makes of a command of the model.
//!
//! ```text
//! source SNAPSHOT 2>/dev/null || true && … && eval 'COMMAND' < /dev/null && pwd -P >| FILE
//! ```
//!
//! The script is split into words and operators, as a shell does. Only its end is compared word by word: what is before
//! `eval` prepares the shell, and differs between versions.

/// A command of the model in the script around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedScript {
    /// The command, as the model wrote it.
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ScriptToken {
    Word {
        text: String,
        /// Whether the whole word is in quotes.
        quoted: bool,
    },
    Operator(&'static str),
}

impl ScriptToken {
    fn is_word(&self, expected: &str) -> bool {
        matches!(self, Self::Word { text, quoted: false } if text == expected)
    }
}

/// Operators, the longer ones first.
const OPERATORS: [&str; 13] =
    ["&&", "||", ";;", ">|", ">>", ">&", "<&", ";", "|", "&", "<", ">", "\n"];

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
        // Most other arguments are decided here.
        if !script.contains("eval ") {
            return None;
        }
        let tokens = tokens(script)?;
        let (operator, word) = (ScriptToken::Operator, ScriptToken::is_word);
        let [before @ .., and, pwd, physical, to, ScriptToken::Word { .. }] = tokens.as_slice()
        else {
            return None;
        };
        let ends = *and == operator("&&")
            && word(pwd, "pwd")
            && word(physical, "-P")
            && *to == operator(">|");
        if !ends {
            return None;
        }
        let before = match before {
            [before @ .., from, null] if *from == operator("<") && word(null, "/dev/null") => {
                before
            }
            before => before,
        };
        let [before @ .., eval, ScriptToken::Word { text, quoted: true }] = before else {
            return None;
        };
        // A command that is evaluated twice would have the end of this form, too.
        let is_joined = before.last().is_none_or(|token| *token == operator("&&"));
        if !word(eval, "eval") || !is_joined || before.iter().any(|token| word(token, "eval")) {
            return None;
        }
        Some(Self { command: text.clone() })
    }
}

/// Returns the name of the shell that the snapshot of a script is for.
pub(super) fn shell_name(script: &str) -> Option<&'static str> {
    ["zsh", "bash"].into_iter().find(|shell| script.contains(&format!("/snapshot-{shell}-")))
}

/// Splits a script. `None`: it has something that is not understood.
fn tokens(script: &str) -> Option<Vec<ScriptToken>> {
    let mut tokens = Vec::new();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return Some(tokens);
        }
        if let Some(operator) = OPERATORS.into_iter().find(|operator| rest.starts_with(operator)) {
            tokens.push(ScriptToken::Operator(operator));
            rest = rest.get(operator.len()..)?;
            continue;
        }
        let (token, after) = word(rest)?;
        tokens.push(token);
        rest = after;
    }
}

/// Reads a word.
fn word(script: &str) -> Option<(ScriptToken, &str)> {
    let mut text = String::new();
    let mut has_quotes = false;
    let mut is_bare = false;
    let mut chars = script.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\'' => {
                has_quotes = true;
                loop {
                    match chars.next()?.1 {
                        '\'' => break,
                        char => text.push(char),
                    }
                }
            }
            '"' => {
                has_quotes = true;
                loop {
                    match chars.next()?.1 {
                        '"' => break,
                        '`' => return None,
                        '$' => {
                            // The shell reads another word, so this one must not match.
                            is_bare = true;
                            text.push('$');
                            expansion(&mut chars)?;
                        }
                        '\\' => match chars.next()?.1 {
                            char @ ('"' | '\\' | '$' | '`') => text.push(char),
                            char => text.extend(['\\', char]),
                        },
                        char => text.push(char),
                    }
                }
            }
            '\\' => {
                let char = chars.next()?.1;
                // Between two quoted parts, it stands for the quote.
                is_bare |= char != '\'';
                text.push(char);
            }
            '$' | '`' | '(' | ')' | '#' => return None,
            ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => {
                return Some((
                    ScriptToken::Word { text, quoted: has_quotes && !is_bare },
                    script.get(at..)?,
                ));
            }
            char => {
                is_bare = true;
                text.push(char);
            }
        }
    }
    Some((ScriptToken::Word { text, quoted: has_quotes && !is_bare }, ""))
}

/// Reads an expansion in double quotes after its `$`: `$NAME` or `${…}` without quotes and commands in it. In its sandbox,
/// Claude Code exports variables in this way (seen in 2.1.330).
fn expansion(chars: &mut std::str::CharIndices<'_>) -> Option<()> {
    let rest = chars.as_str();
    if rest.starts_with('(') {
        return None;
    }
    if !rest.starts_with('{') {
        return Some(());
    }
    let mut depth = 0_usize;
    loop {
        match chars.next()?.1 {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(()),
            '}' => depth -= 1,
            '"' | '\'' | '`' | '\\' | '(' => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{WrappedScript, shell_name};

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
            ("eval ls < /dev/null", ""),
            ("eval 'ls' < /dev/zero", ""),
            ("eval \"$X\" < /dev/null", ""),
            ("export A=\"${A:+$A }'b'\" C=\"$HOME/x\" && eval 'ls' < /dev/null", "ls"),
            ("export A=\"${A:+\"x\"}\" && eval 'ls' < /dev/null", ""),
            ("export A=\"$(x)\" && eval 'ls' < /dev/null", ""),
            ("evil 'ls' < /dev/null", ""),
        ] {
            let parsed = WrappedScript::parse(&script(eval));
            let is_empty = eval.starts_with("eval ''");
            match command {
                "" if !is_empty => assert_eq!(parsed, None, "{eval}"),
                command => {
                    let parsed = parsed.unwrap();
                    assert_eq!(parsed.command, command, "{eval}");
                    assert_eq!(shell_name(&script(eval)), Some("bash"));
                }
            }
        }
    }

    #[test]
    fn scripts_without_a_snapshot() {
        let script = WrappedScript::parse("eval 'ls' < /dev/null && pwd -P >| '/tmp/a b'").unwrap();
        assert_eq!(script.command, "ls");
        assert_eq!(shell_name("eval 'ls' < /dev/null && pwd -P >| '/tmp/a b'"), None);
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
