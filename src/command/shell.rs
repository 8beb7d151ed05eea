//! Splits a command line into words and operators, as a shell does.
//!
//! It understands as much of POSIX `sh` as is needed to know which program writes the output. Any other syntax makes
//! the command unknown. Nothing is expanded: a word with `$` keeps the typed text. Work is linear, without recursion.

/// Maximum length of a command line, in bytes. Longer ones are unknown.
const LONGEST: usize = 64 << 10;

/// The operator between a command and the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandJoin {
    /// `|` and `|&`: the next command reads the output of this one.
    Pipe,
    /// `;`, `&&`, `||`, or a line end: the outputs of both commands appear.
    Then,
    /// None: this is the last command.
    End,
}

/// A command and the operator after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<String>,
    pub(super) join: CommandJoin,
}

/// Keywords of compound commands, for which it is unknown which program writes, and how often.
const KEYWORDS: [&str; 17] = [
    "for", "while", "until", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac",
    "function", "select", "{", "}", "!",
];

/// Splits a command line. Returns `None` for syntax that is not understood.
pub(super) fn split(text: &str) -> Option<Vec<SimpleCommand>> {
    if text.len() > LONGEST {
        return None;
    }
    let mut lexer = ShellLexer { chars: text.chars().collect(), at: 0 };
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut open = 0_usize;
    // Whether the next word is the target of a redirection.
    let mut target = false;
    loop {
        let token = lexer.next()?;
        let join = match token {
            ShellToken::Word(word) => {
                if std::mem::take(&mut target) {
                    continue;
                }
                if words.is_empty() && KEYWORDS.contains(&word.as_str()) {
                    return None;
                }
                words.push(word);
                continue;
            }
            _ if target => return None,
            ShellToken::Redirect => {
                // The last word is the number of the redirected stream, not an argument.
                target = true;
                continue;
            }
            ShellToken::Open if words.is_empty() => {
                open += 1;
                continue;
            }
            ShellToken::Open => return None,
            ShellToken::Close => {
                open = open.checked_sub(1)?;
                CommandJoin::Then
            }
            ShellToken::Pipe => CommandJoin::Pipe,
            ShellToken::Then => CommandJoin::Then,
            ShellToken::End => CommandJoin::End,
        };
        if token == ShellToken::Close {
            // An operator follows.
            if !words.is_empty() {
                commands.push(SimpleCommand { words: std::mem::take(&mut words), join });
            }
            continue;
        }
        if words.is_empty() {
            // After `)`, or between lines.
            if let Some(SimpleCommand { join: before, .. }) = commands.last_mut()
                && *before == CommandJoin::Then
            {
                *before = join;
            }
        } else {
            commands.push(SimpleCommand { words: std::mem::take(&mut words), join });
        }
        if join == CommandJoin::End {
            break;
        }
    }
    if let Some(SimpleCommand { join, .. }) = commands.last_mut() {
        if *join == CommandJoin::Pipe {
            return None;
        }
        *join = CommandJoin::End;
    }
    (open == 0 && !commands.is_empty()).then_some(commands)
}

/// Quotes a word so that a shell reads it as one word.
pub(super) fn quote(word: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "-_./:=@%+,^~[]{}*?".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ShellToken {
    Word(String),
    Redirect,
    Pipe,
    Then,
    Open,
    Close,
    End,
}

struct ShellLexer {
    chars: Vec<char>,
    at: usize,
}

impl ShellLexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn bump(&mut self) -> Option<char> {
        let char = self.peek(0)?;
        self.at += 1;
        Some(char)
    }

    fn skip(&mut self, count: usize, token: ShellToken) -> Option<ShellToken> {
        self.at += count;
        Some(token)
    }

    fn next(&mut self) -> Option<ShellToken> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('\\'), Some('\n')) => self.at += 2,
                (Some(' ' | '\t' | '\r'), _) => self.at += 1,
                (Some('#'), _) => {
                    while self.peek(0).is_some_and(|char| char != '\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
        match (self.peek(0), self.peek(1), self.peek(2)) {
            (None, ..) => Some(ShellToken::End),
            (Some('\n' | ';'), ..) => self.skip(1, ShellToken::Then),
            (Some('&'), Some('&'), _) | (Some('|'), Some('|'), _) => self.skip(2, ShellToken::Then),
            (Some('|'), Some('&'), _) => self.skip(2, ShellToken::Pipe),
            (Some('|'), ..) => self.skip(1, ShellToken::Pipe),
            (Some('&'), Some('>'), Some('>')) => self.skip(3, ShellToken::Redirect),
            (Some('&'), Some('>'), _) => self.skip(2, ShellToken::Redirect),
            // It is unknown when a background command writes.
            (Some('&'), ..) => None,
            (Some('('), ..) => self.skip(1, ShellToken::Open),
            (Some(')'), ..) => self.skip(1, ShellToken::Close),
            (Some('<' | '>'), ..) => self.redirect(),
            _ => self.word(),
        }
    }

    /// Reads `<`, `>`, `>>`, `>|`, `<>`, `>&` or `<&`. Here documents (`<<`) and process substitutions (`<(`) are not
    /// understood.
    fn redirect(&mut self) -> Option<ShellToken> {
        let first = self.bump()?;
        match (first, self.peek(0)) {
            ('<', Some('<')) if self.peek(1) == Some('<') => self.skip(2, ShellToken::Redirect),
            ('<', Some('<' | '(')) | ('>', Some('(')) => None,
            ('>', Some('>' | '|' | '&')) | ('<', Some('&' | '>')) => {
                self.skip(1, ShellToken::Redirect)
            }
            _ => Some(ShellToken::Redirect),
        }
    }

    fn word(&mut self) -> Option<ShellToken> {
        let mut word = String::new();
        let mut quoted = false;
        while let Some(char) = self.peek(0) {
            match char {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | '(' | ')' => break,
                '<' | '>' => {
                    // In `2>`, the number is a stream.
                    if !quoted && !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) {
                        return self.redirect();
                    }
                    break;
                }
                '\'' => {
                    self.at += 1;
                    quoted = true;
                    loop {
                        match self.bump()? {
                            '\'' => break,
                            char => word.push(char),
                        }
                    }
                }
                '"' => {
                    self.at += 1;
                    quoted = true;
                    loop {
                        match self.bump()? {
                            '"' => break,
                            '\\' => match self.bump()? {
                                '\n' => {}
                                char @ ('"' | '\\' | '$' | '`') => word.push(char),
                                char => word.extend(['\\', char]),
                            },
                            '`' => return None,
                            '$' if self.peek(0) == Some('(') => self.substitution(&mut word)?,
                            char => word.push(char),
                        }
                    }
                }
                '\\' => {
                    self.at += 1;
                    match self.bump()? {
                        '\n' => {}
                        char => word.push(char),
                    }
                }
                '`' => return None,
                '$' if self.peek(1) == Some('(') => {
                    self.at += 1;
                    self.substitution(&mut word)?;
                }
                char => {
                    self.at += 1;
                    word.push(char);
                }
            }
        }
        Some(ShellToken::Word(word))
    }

    /// Reads `$(…)` after the `$`, up to the closing bracket, as it is. Quotes inside are not understood.
    fn substitution(&mut self, word: &mut String) -> Option<()> {
        word.push('$');
        let mut open = 0_usize;
        loop {
            let char = self.bump()?;
            word.push(char);
            match char {
                '(' => open += 1,
                ')' => open -= 1,
                '\'' | '"' | '`' | '\\' => return None,
                _ => {}
            }
            if open == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandJoin, quote, split};

    /// Formats commands as `<word><word> | <word> ; <word>`.
    fn shown(text: &str) -> Option<String> {
        let commands = split(text)?;
        let shown = commands.iter().map(|command| {
            let words: Vec<String> = command.words.iter().map(|word| format!("<{word}>")).collect();
            let join = match command.join {
                CommandJoin::Pipe => " | ",
                CommandJoin::Then => " ; ",
                CommandJoin::End => "",
            };
            words.concat() + join
        });
        Some(shown.collect())
    }

    #[test]
    fn command_lines() {
        for (text, expected) in [
            ("cargo test", Some("<cargo><test>")),
            ("  cargo\ttest  # all of them", Some("<cargo><test>")),
            ("a 'b c' \"d $x\" e\\ f", Some("<a><b c><d $x><e f>")),
            ("a \"b\\\"c\" ''", Some("<a><b\"c><>")),
            ("a && b || c; d\ne", Some("<a> ; <b> ; <c> ; <d> ; <e>")),
            ("a | b |& c", Some("<a> | <b> | <c>")),
            ("a 2>&1 | tee x", Some("<a> | <tee><x>")),
            ("a > out 2> err < in", Some("<a>")),
            ("a &> out", Some("<a>")),
            ("a 2>/dev/null b", Some("<a><b>")),
            ("echo 2 > x", Some("<echo><2>")),
            ("(cd x && a) | b", Some("<cd><x> ; <a> | <b>")),
            ("a $(b c) d", Some("<a><$(b c)><d>")),
            ("a \\\n b", Some("<a><b>")),
            ("a;", Some("<a>")),
            ("a <<< b", Some("<a>")),
            ("", None),
            ("# nothing", None),
            ("a |", None),
            ("a &", None),
            ("a 'b", None),
            ("a \"b", None),
            ("a `b`", None),
            ("a << E\nb\nE", None),
            ("a <(b)", None),
            ("for x in 1 2; do a; done", None),
            ("if a; then b; fi", None),
            ("(a", None),
            ("a)", None),
            ("f() { a; }", None),
            ("a >", None),
        ] {
            assert_eq!(shown(text).as_deref(), expected, "{text}");
        }
        assert_eq!(split(&"x".repeat(100_000)), None);
    }

    #[test]
    fn quoted_words_are_words_again() {
        for word in ["a", "a b", "", "it's", "$x", "a\nb", "é", "--a=b,c"] {
            let commands = split(&quote(word)).unwrap();
            assert_eq!(commands[0].words, [word], "{word}");
        }
    }
}
