//! The little of a shell that documented commands need: quoting, a pipe from `echo` or `printf`, a file as output. So
//! the examples run wherever the tests do.

/// One command as it is typed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Typed {
    /// The piped input.
    pub(crate) input: Option<String>,
    /// Where its output goes.
    pub(crate) into: Option<String>,
    /// All arguments after `tamis`.
    pub(crate) args: Vec<String>,
}

impl Typed {
    /// Reads a line. Panics with what it does not know.
    pub(crate) fn parse(line: &str) -> Self {
        let words = words(line);
        let mut commands = words.split(|word| *word == Word::Pipe);
        let last = commands.next_back().unwrap();
        let before: Vec<_> = commands.collect();
        let mut typed = Self::default();
        let mut last = last.iter();
        assert_eq!(last.next(), Some(&Word::Text("tamis".into())), "{line}");
        while let Some(word) = last.next() {
            match word {
                Word::Text(text) => typed.args.push(text.clone()),
                Word::Into => {
                    let Some(Word::Text(file)) = last.next() else { panic!("{line}") };
                    typed.into = Some(file.clone());
                }
                Word::Pipe => unreachable!(),
            }
        }
        let before: Option<Vec<&str>> =
            before.first().map(|command| command.iter().map(|word| word.text()).collect());
        typed.input = before.as_deref().map(|command| match command {
            ["echo", words @ ..] => words.join(" ") + "\n",
            ["printf", r"%s\n", lines @ ..] => lines.join("\n") + "\n",
            // The response that the network would give.
            ["curl", ..] => "[{\"id\":1,\"body\":\"x\",\"name\":\"y\",\"none\":null}]\n".to_owned(),
            ["git", "log"] => "commit 0123456789abcdef0123456789abcdef01234567\n".to_owned(),
            _ => panic!("what is this: {line}"),
        });
        typed
    }
}

/// The arguments in a line without pipes.
pub(crate) fn arguments(line: &str) -> Vec<String> {
    words(line).iter().map(|word| word.text().to_owned()).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum Word {
    Text(String),
    Pipe,
    Into,
}

impl Word {
    fn text(&self) -> &str {
        if let Self::Text(text) = self { text } else { panic!("a word is wanted: {self:?}") }
    }
}

fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    while let Some(first) = chars.next() {
        match first {
            ' ' => {}
            '|' => words.push(Word::Pipe),
            '>' => words.push(Word::Into),
            '#' => break,
            _ => {
                let mut word = String::new();
                let mut next = Some(first);
                while let Some(char) = next {
                    match char {
                        '\'' => word.extend(chars.by_ref().take_while(|char| *char != '\'')),
                        '"' | '`' | '$' | '\\' | ';' | '&' | '<' => {
                            panic!("not known here: {char} in {line}")
                        }
                        _ => word.push(char),
                    }
                    next = chars.next_if(|char| *char != ' ');
                }
                words.push(Word::Text(word));
            }
        }
    }
    words
}

/// One documented command with what it must say: both streams, and the exit code if that is not 0.
#[derive(Debug, Default)]
pub(crate) struct Example {
    pub(crate) command: String,
    pub(crate) output: String,
    pub(crate) code: i32,
}

/// The examples in the blocks of a page that are fenced as `console`.
pub(crate) fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            examples.push(Example { command: command.to_owned(), ..Example::default() });
        } else if inside {
            let example = examples.last_mut().unwrap();
            match line.strip_prefix("(exit ").and_then(|rest| rest.strip_suffix(')')) {
                Some(code) => example.code = code.parse().unwrap(),
                None => example.output += &format!("{line}\n"),
            }
        }
    }
    examples
}
