//! A command line as a shell reads it: words, quotes, and what joins commands. As much of POSIX `sh` as is needed to know
//! which program writes the output; what is not understood is nobody's.
//!
//! Expands nothing: a word with `$` in it has the text that was typed. Linear, no recursion.

/// Bytes of a command line that are looked at; a longer one is not understood.
const LONGEST: usize = 64 << 10;

/// What stands between a command and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// `|` and `|&`: the next reads what this one writes.
    Pipe,
    /// `;`, `&&`, `||`, the end of a line: what both write comes out.
    Then,
    /// Nothing: it is the last.
    End,
}

/// A command without what joins it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<String>,
    pub(super) join: Join,
}

/// Words that begin or end a compound command: which program writes, and how often, is not known.
const KEYWORDS: [&str; 17] = [
    "for", "while", "until", "if", "then", "else", "elif", "fi", "do", "done", "case", "esac",
    "function", "select", "{", "}", "!",
];

/// Splits a command line; `None` if it is not understood.
pub(super) fn split(text: &str) -> Option<Vec<Simple>> {
    if text.len() > LONGEST {
        return None;
    }
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0 };
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut open = 0_usize;
    // A redirection takes the word behind it.
    let mut target = false;
    loop {
        let token = lexer.next()?;
        let join = match token {
            Token::Word(word) => {
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
            Token::Redirect => {
                // The number in front of it, of a stream, was read as its part.
                target = true;
                continue;
            }
            Token::Open if words.is_empty() => {
                open += 1;
                continue;
            }
            Token::Open => return None,
            Token::Close => {
                open = open.checked_sub(1)?;
                Join::Then
            }
            Token::Pipe => Join::Pipe,
            Token::Then => Join::Then,
            Token::End => Join::End,
        };
        if token == Token::Close {
            // What joins follows.
            if !words.is_empty() {
                commands.push(Simple { words: std::mem::take(&mut words), join });
            }
            continue;
        }
        if words.is_empty() {
            // Behind `)`, or between lines.
            if let Some(Simple { join: before, .. }) = commands.last_mut()
                && *before == Join::Then
            {
                *before = join;
            }
        } else {
            commands.push(Simple { words: std::mem::take(&mut words), join });
        }
        if join == Join::End {
            break;
        }
    }
    if let Some(Simple { join, .. }) = commands.last_mut() {
        if *join == Join::Pipe {
            return None;
        }
        *join = Join::End;
    }
    (open == 0 && !commands.is_empty()).then_some(commands)
}

/// A word as it is typed, so that it is one again.
pub(super) fn quote(word: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "-_./:=@%+,^~[]{}*?".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Redirect,
    Pipe,
    Then,
    Open,
    Close,
    End,
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn bump(&mut self) -> Option<char> {
        let char = self.peek(0)?;
        self.at += 1;
        Some(char)
    }

    fn skip(&mut self, count: usize, token: Token) -> Option<Token> {
        self.at += count;
        Some(token)
    }

    fn next(&mut self) -> Option<Token> {
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
            (None, ..) => Some(Token::End),
            (Some('\n' | ';'), ..) => self.skip(1, Token::Then),
            (Some('&'), Some('&'), _) | (Some('|'), Some('|'), _) => self.skip(2, Token::Then),
            (Some('|'), Some('&'), _) => self.skip(2, Token::Pipe),
            (Some('|'), ..) => self.skip(1, Token::Pipe),
            (Some('&'), Some('>'), Some('>')) => self.skip(3, Token::Redirect),
            (Some('&'), Some('>'), _) => self.skip(2, Token::Redirect),
            // In the background: nobody knows when it writes.
            (Some('&'), ..) => None,
            (Some('('), ..) => self.skip(1, Token::Open),
            (Some(')'), ..) => self.skip(1, Token::Close),
            (Some('<' | '>'), ..) => self.redirect(),
            _ => self.word(),
        }
    }

    /// `<`, `>`, `>>`, `>|`, `<>`, `>&`, `<&`; texts that follow (`<<`) and processes (`<(`) are not understood.
    fn redirect(&mut self) -> Option<Token> {
        let first = self.bump()?;
        match (first, self.peek(0)) {
            ('<', Some('<')) if self.peek(1) == Some('<') => self.skip(2, Token::Redirect),
            ('<', Some('<' | '(')) | ('>', Some('(')) => None,
            ('>', Some('>' | '|' | '&')) | ('<', Some('&' | '>')) => self.skip(1, Token::Redirect),
            _ => Some(Token::Redirect),
        }
    }

    fn word(&mut self) -> Option<Token> {
        let mut word = String::new();
        let mut quoted = false;
        while let Some(char) = self.peek(0) {
            match char {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | '(' | ')' => break,
                '<' | '>' => {
                    // `2>` is a stream.
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
        Some(Token::Word(word))
    }

    /// `$(…)`, behind the `$`: up to the bracket that closes it, as it stands. Brackets in quotes are not understood.
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
    use super::{Join, quote, split};

    /// Commands, as `word word | word ; word`.
    fn shown(text: &str) -> Option<String> {
        let commands = split(text)?;
        let shown = commands.iter().map(|command| {
            let words: Vec<String> = command.words.iter().map(|word| format!("<{word}>")).collect();
            let join = match command.join {
                Join::Pipe => " | ",
                Join::Then => " ; ",
                Join::End => "",
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
