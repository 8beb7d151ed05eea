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
    /// `&&`: the next command runs if this one succeeds.
    And,
    /// `||`: the next command runs if this one fails.
    Or,
    /// `;`, or a line end: the next command runs in any case.
    Then,
    /// None: this is the last command.
    End,
}

/// A command and the operator after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<String>,
    pub(super) join: CommandJoin,
    /// Whether the command is in brackets whose output goes into a pipe.
    pub(super) is_piped: bool,
    /// Whether its standard output goes into a file.
    pub(super) is_to_file: bool,
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
    let mut lexer = ShellLexer { chars: text.chars().collect(), at: 0, documents: Vec::new() };
    let mut commands: Vec<SimpleCommand> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    // The number of commands before each open bracket, and that before the last closed one.
    let mut open: Vec<usize> = Vec::new();
    let mut closed = None;
    // Whether the next word is the target of a redirection.
    let mut target = false;
    let mut is_to_file = false;
    let take = |words: &mut Vec<String>, join, is_to_file: &mut bool| SimpleCommand {
        words: std::mem::take(words),
        join,
        is_piped: false,
        is_to_file: std::mem::take(is_to_file),
    };
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
            ShellToken::Redirect { of_output } => {
                // The last word is the number of the redirected stream, not an argument.
                target = true;
                is_to_file |= of_output;
                continue;
            }
            ShellToken::Document => continue,
            ShellToken::Open if words.is_empty() => {
                open.push(commands.len());
                continue;
            }
            ShellToken::Open => return None,
            ShellToken::Close => {
                closed = Some(open.pop()?);
                // An operator follows.
                if !words.is_empty() {
                    commands.push(take(&mut words, CommandJoin::Then, &mut is_to_file));
                }
                continue;
            }
            ShellToken::Join(join) => join,
        };
        if words.is_empty() {
            // After `)`, or between lines.
            if join == CommandJoin::Pipe {
                for command in commands.iter_mut().skip(closed?) {
                    command.is_piped = true;
                }
            }
            if let Some(SimpleCommand { join: before, .. }) = commands.last_mut()
                && (*before == CommandJoin::Then || *before == CommandJoin::End)
            {
                *before = join;
            }
            is_to_file = false;
        } else {
            commands.push(take(&mut words, join, &mut is_to_file));
        }
        closed = None;
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
    (open.is_empty() && !commands.is_empty()).then_some(commands)
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
    /// The next word is the target.
    Redirect {
        of_output: bool,
    },
    /// A here document was announced: it follows the line.
    Document,
    Open,
    Close,
    Join(CommandJoin),
}

struct ShellLexer {
    chars: Vec<char>,
    at: usize,
    /// The here documents that follow the line: the line that ends each, and whether leading tabs are removed.
    documents: Vec<(String, bool)>,
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
        let redirect = ShellToken::Redirect { of_output: true };
        match (self.peek(0), self.peek(1), self.peek(2)) {
            (None, ..) if !self.documents.is_empty() => None,
            (None, ..) => Some(ShellToken::Join(CommandJoin::End)),
            (Some('\n'), ..) => {
                self.at += 1;
                self.skip_documents()?;
                Some(ShellToken::Join(CommandJoin::Then))
            }
            // In a `case`.
            (Some(';'), Some(';'), _) => None,
            (Some(';'), ..) => self.skip(1, ShellToken::Join(CommandJoin::Then)),
            (Some('&'), Some('&'), _) => self.skip(2, ShellToken::Join(CommandJoin::And)),
            (Some('|'), Some('|'), _) => self.skip(2, ShellToken::Join(CommandJoin::Or)),
            (Some('|'), Some('&'), _) => self.skip(2, ShellToken::Join(CommandJoin::Pipe)),
            (Some('|'), ..) => self.skip(1, ShellToken::Join(CommandJoin::Pipe)),
            (Some('&'), Some('>'), Some('>')) => self.skip(3, redirect),
            (Some('&'), Some('>'), _) => self.skip(2, redirect),
            // It is unknown when a background command writes.
            (Some('&'), ..) => None,
            (Some('('), ..) => self.skip(1, ShellToken::Open),
            (Some(')'), ..) => self.skip(1, ShellToken::Close),
            (Some('<' | '>'), ..) => self.redirect(true),
            _ => self.word(),
        }
    }

    /// Reads `<`, `>`, `>>`, `>|`, `<>`, `>&`, `<&`, `<<<` or `<<`. Process substitutions (`<(`) are not understood.
    /// `is_first`: whether `>` is of standard output.
    fn redirect(&mut self, is_first: bool) -> Option<ShellToken> {
        let first = self.bump()?;
        let of_output = is_first && first == '>';
        match (first, self.peek(0)) {
            ('<', Some('<')) if self.peek(1) == Some('<') => {
                self.skip(2, ShellToken::Redirect { of_output })
            }
            ('<', Some('<')) => {
                self.at += 1;
                self.document()
            }
            ('<' | '>', Some('(')) => None,
            // `>&2` is another stream rather than a file.
            ('>', Some('&')) => self.skip(1, ShellToken::Redirect { of_output: false }),
            ('>', Some('>' | '|')) | ('<', Some('&' | '>')) => {
                self.skip(1, ShellToken::Redirect { of_output })
            }
            _ => Some(ShellToken::Redirect { of_output }),
        }
    }

    /// Reads the word after `<<`, which ends the here document.
    fn document(&mut self) -> Option<ShellToken> {
        let is_indented = self.peek(0) == Some('-');
        self.at += usize::from(is_indented);
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let ShellToken::Word(end) = self.word()? else { return None };
        if end.is_empty() || end.contains('\n') {
            return None;
        }
        self.documents.push((end, is_indented));
        Some(ShellToken::Document)
    }

    /// Skips the here documents after a line. `None` if one of them does not end.
    fn skip_documents(&mut self) -> Option<()> {
        for (end, is_indented) in std::mem::take(&mut self.documents) {
            loop {
                self.peek(0)?;
                let mut line = String::new();
                while let Some(char) = self.bump().filter(|char| *char != '\n') {
                    line.push(char);
                }
                let line = if is_indented { line.trim_start_matches('\t') } else { &line };
                if line == end {
                    break;
                }
            }
        }
        Some(())
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
                        let is_first = word == "1";
                        return self.redirect(is_first);
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
                CommandJoin::And => " && ",
                CommandJoin::Or => " || ",
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
            ("a && b || c; d\ne", Some("<a> && <b> || <c> ; <d> ; <e>")),
            ("a | b |& c", Some("<a> | <b> | <c>")),
            ("a 2>&1 | tee x", Some("<a> | <tee><x>")),
            ("a > out 2> err < in", Some("<a>")),
            ("a &> out", Some("<a>")),
            ("a 2>/dev/null b", Some("<a><b>")),
            ("echo 2 > x", Some("<echo><2>")),
            ("(cd x && a) | b", Some("<cd><x> && <a> | <b>")),
            ("(a; b) && c", Some("<a> ; <b> && <c>")),
            ("(a; b)", Some("<a> ; <b>")),
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
            ("a << E\nb\nE", Some("<a>")),
            ("a <<-'E' > x\n\tb && c\n\tE\nd", Some("<a> ; <d>")),
            ("a <<E <<F && b\n1\nE\n2\nF\nc", Some("<a> && <b> ; <c>")),
            ("a << E\nb", None),
            ("a <<", None),
            ("case x in a) b;; esac", None),
            ("a;; b", None),
            ("a\n| b", None),
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
        let flags = |text: &str| {
            let commands = split(text).unwrap();
            commands
                .iter()
                .map(|command| (command.is_piped, command.is_to_file))
                .collect::<Vec<_>>()
        };
        assert_eq!(flags("(a; b) | c"), [(true, false), (true, false), (false, false)]);
        assert_eq!(
            flags("a > x; b 1>> x; c 2> x; d >&2; e &> x; f < x"),
            [
                (false, true),
                (false, true),
                (false, false),
                (false, false),
                (false, true),
                (false, false)
            ]
        );
    }

    #[test]
    fn quoted_words_are_words_again() {
        for word in ["a", "a b", "", "it's", "$x", "a\nb", "é", "--a=b,c"] {
            let commands = split(&quote(word)).unwrap();
            assert_eq!(commands[0].words, [word], "{word}");
        }
    }
}
