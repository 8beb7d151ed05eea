//! Reads a file of rules that consists of calls with literals.
//!
//! ```text
//! file  = { call (newline | ";") }
//! call  = name "(" [ key "=" value { "," key "=" value } [","] ] ")"
//! value = string | "[" [ value { "," value } [","] ] "]" | "None"
//! ```
//!
//! Comments may be anywhere. Everything else of Starlark is not understood.

use super::prefix_rule::{PrefixRule, RuleDecision};

/// A file has something that is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotUnderstood;

type Parsed<T> = Result<T, NotUnderstood>;

/// The deepest nesting of lists.
const DEEPEST: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
enum StarlarkValue {
    Text(String),
    List(Vec<StarlarkValue>),
    None,
}

impl StarlarkValue {
    fn text(self) -> Parsed<String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::List(_) | Self::None => Err(NotUnderstood),
        }
    }

    fn list(self) -> Parsed<Vec<Self>> {
        match self {
            Self::List(values) => Ok(values),
            Self::Text(_) | Self::None => Err(NotUnderstood),
        }
    }
}

/// Returns the rules of a file.
pub(super) fn parse(text: &str) -> Parsed<Vec<PrefixRule>> {
    let mut reader = StarlarkReader { rest: text };
    let mut rules = Vec::new();
    loop {
        reader.skip_lines();
        if reader.rest.is_empty() {
            return Ok(rules);
        }
        let (name, arguments) = reader.call()?;
        match name {
            "prefix_rule" => rules.push(prefix_rule(arguments)?),
            // It only says which paths a name stands for, and rewritten commands are compared by name in any case.
            "host_executable" => host_executable(arguments)?,
            _ => return Err(NotUnderstood),
        }
        reader.skip_blanks();
        if !reader.rest.is_empty() && !reader.rest.starts_with(['\n', '\r', ';']) {
            return Err(NotUnderstood);
        }
    }
}

fn prefix_rule(arguments: Vec<(&str, StarlarkValue)>) -> Parsed<PrefixRule> {
    let mut pattern = Vec::new();
    let mut decision = RuleDecision::Allow;
    for (key, value) in arguments {
        match (key, value) {
            ("pattern", value) => {
                for element in value.list()? {
                    let alternatives = match element {
                        StarlarkValue::Text(word) => vec![word],
                        StarlarkValue::List(words) => {
                            words.into_iter().map(StarlarkValue::text).collect::<Parsed<_>>()?
                        }
                        StarlarkValue::None => return Err(NotUnderstood),
                    };
                    if alternatives.is_empty() {
                        return Err(NotUnderstood);
                    }
                    pattern.push(alternatives);
                }
            }
            ("decision" | "justification" | "match" | "not_match", StarlarkValue::None) => {}
            ("decision", value) => {
                decision = RuleDecision::parse(&value.text()?).ok_or(NotUnderstood)?;
            }
            ("justification", value) => _ = value.text()?,
            // Examples: Codex reads no rules at all if one is wrong.
            ("match" | "not_match", value) => {
                for example in value.list()? {
                    match example {
                        StarlarkValue::Text(_) => {}
                        StarlarkValue::List(words) => {
                            _ = words
                                .into_iter()
                                .map(StarlarkValue::text)
                                .collect::<Parsed<Vec<_>>>()?;
                        }
                        StarlarkValue::None => return Err(NotUnderstood),
                    }
                }
            }
            _ => return Err(NotUnderstood),
        }
    }
    if pattern.is_empty() { Err(NotUnderstood) } else { Ok(PrefixRule { pattern, decision }) }
}

fn host_executable(arguments: Vec<(&str, StarlarkValue)>) -> Parsed<()> {
    for (key, value) in arguments {
        match key {
            "name" => _ = value.text()?,
            "paths" => {
                _ = value
                    .list()?
                    .into_iter()
                    .map(StarlarkValue::text)
                    .collect::<Parsed<Vec<_>>>()?;
            }
            _ => return Err(NotUnderstood),
        }
    }
    Ok(())
}

struct StarlarkReader<'a> {
    rest: &'a str,
}

impl<'a> StarlarkReader<'a> {
    /// Skips blanks and a comment.
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        if self.rest.starts_with('#') {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.rest = self.rest.get(end..).unwrap_or_default();
        }
    }

    /// Skips blanks, comments and the ends of lines.
    fn skip_space(&mut self) {
        loop {
            self.skip_blanks();
            let rest = self.rest.trim_start_matches(['\n', '\r']);
            if rest.len() == self.rest.len() {
                return;
            }
            self.rest = rest;
        }
    }

    /// Skips everything between two statements. A statement that is indented would be left over.
    fn skip_lines(&mut self) {
        loop {
            self.skip_space();
            match self.rest.strip_prefix(';') {
                Some(rest) => self.rest = rest,
                None => return,
            }
        }
    }

    fn take(&mut self, char: char) -> bool {
        match self.rest.strip_prefix(char) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, char: char) -> Parsed<()> {
        if self.take(char) { Ok(()) } else { Err(NotUnderstood) }
    }

    fn name(&mut self) -> Parsed<&'a str> {
        let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let end = self.rest.find(|char| !is_part(char)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end).ok_or(NotUnderstood)?;
        if !name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_') {
            return Err(NotUnderstood);
        }
        self.rest = rest;
        Ok(name)
    }

    fn call(&mut self) -> Parsed<(&'a str, Vec<(&'a str, StarlarkValue)>)> {
        let name = self.name()?;
        self.skip_blanks();
        self.expect('(')?;
        let mut arguments: Vec<(&str, StarlarkValue)> = Vec::new();
        loop {
            self.skip_space();
            if self.take(')') {
                return Ok((name, arguments));
            }
            let key = self.name()?;
            self.skip_space();
            self.expect('=')?;
            self.skip_space();
            let value = self.value(0)?;
            if arguments.iter().any(|(other, _)| *other == key) {
                return Err(NotUnderstood);
            }
            arguments.push((key, value));
            self.skip_space();
            if !self.take(',') {
                self.expect(')')?;
                return Ok((name, arguments));
            }
        }
    }

    fn value(&mut self, depth: usize) -> Parsed<StarlarkValue> {
        if depth > DEEPEST {
            return Err(NotUnderstood);
        }
        let value = match self.rest.chars().next() {
            Some('"' | '\'') => StarlarkValue::Text(self.string()?),
            Some('[') => {
                self.take('[');
                let mut values = Vec::new();
                loop {
                    self.skip_space();
                    if self.take(']') {
                        break;
                    }
                    values.push(self.value(depth + 1)?);
                    self.skip_space();
                    if !self.take(',') {
                        self.expect(']')?;
                        break;
                    }
                }
                StarlarkValue::List(values)
            }
            Some('N') if self.name()? == "None" => StarlarkValue::None,
            _ => return Err(NotUnderstood),
        };
        Ok(value)
    }

    /// Reads a string on one line. Escapes other than of quotes and the backslash are not understood.
    fn string(&mut self) -> Parsed<String> {
        let mut chars = self.rest.chars();
        let quote = chars.next().ok_or(NotUnderstood)?;
        let mut text = String::new();
        loop {
            match chars.next().ok_or(NotUnderstood)? {
                '\n' | '\r' => return Err(NotUnderstood),
                '\\' => match chars.next().ok_or(NotUnderstood)? {
                    char @ ('\\' | '"' | '\'') => text.push(char),
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    _ => return Err(NotUnderstood),
                },
                char if char == quote => break,
                char => text.push(char),
            }
        }
        self.rest = chars.as_str();
        // `"""` begins a string of several lines.
        if text.is_empty() && self.rest.starts_with(quote) {
            return Err(NotUnderstood);
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::hook::codex_rules::{PrefixRule, RuleDecision};

    fn rule(pattern: &[&[&str]], decision: RuleDecision) -> PrefixRule {
        let words = |words: &&[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        PrefixRule { pattern: pattern.iter().map(words).collect(), decision }
    }

    #[test]
    fn plain_rules() {
        let text = r#"# comment
prefix_rule(pattern=["cargo", "test"])
prefix_rule(
    pattern = ['git', ["push", "fetch",],], # both
    decision = "prompt",
    justification = None,
    match = ["git push", ["git", "fetch"]],
    not_match = [],
); prefix_rule(decision="forbidden",pattern=["a\"b"])
host_executable(name = "git", paths = ["/usr/bin/git"])
"#;
        let expected = [
            rule(&[&["cargo"], &["test"]], RuleDecision::Allow),
            rule(&[&["git"], &["push", "fetch"]], RuleDecision::Prompt),
            rule(&[&["a\"b"]], RuleDecision::Forbidden),
        ];
        assert_eq!(parse(text).unwrap(), expected);
        assert_eq!(parse("").unwrap(), []);
        assert_eq!(parse("# only\r\n\r\n").unwrap(), []);
    }

    #[test]
    fn everything_else_is_not_understood() {
        for text in [
            "x = 1",
            "load('a', 'b')",
            "prefix_rule(pattern=X)",
            "prefix_rule(pattern=[])",
            "prefix_rule(pattern=[[]])",
            "prefix_rule(pattern=['a', 1])",
            "prefix_rule(pattern=['a' + 'b'])",
            "prefix_rule(pattern=['a'] + ['b'])",
            "prefix_rule(pattern=['a'] * 2)",
            "prefix_rule(['a'])",
            "prefix_rule()",
            "prefix_rule(pattern=['a'], decision='deny')",
            "prefix_rule(pattern=['a'], other='x')",
            "prefix_rule(pattern=['a'], pattern=['b'])",
            "prefix_rule(pattern=('a', 'b'))",
            "prefix_rule(pattern=['a']",
            "prefix_rule(pattern=['a'])  prefix_rule(pattern=['b'])",
            "prefix_rule(pattern=['a']).x",
            "prefix_rule(pattern=['a\\x41'])",
            "prefix_rule(pattern=[\"\"\"a\"\"\"])",
            "prefix_rule(pattern=[r'a'])",
            "prefix_rule(pattern=[f'a'])",
            "prefix_rule(pattern=['a\nb'])",
            "network_rule(host='x', protocol='https', decision='deny')",
            "if True:\n  prefix_rule(pattern=['a'])",
            "[prefix_rule(pattern=[x]) for x in ['a']]",
            "def f():\n  pass",
            "\u{feff}prefix_rule(pattern=['a'])",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
