//! Brings a Go template into the form that the engine reads as Go would.
//!
//! What is rewritten, and why:
//!
//! - strings, character constants and numbers are spelled anew: the engine misreads some escapes, does not end on others;
//! - `{{else with}}` becomes a `with` inside the `else`, with an `{{end}}` of its own;
//! - a whole float stays a float;
//! - each pipeline ends in a call of the meter, so that no copy of a value goes uncounted.
//!
//! And what the engine would recurse on is counted here, before it sees it. Every place of the new text is known in the
//! old one. Knows names of the engine's functions, nothing else of it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::lex::{Fault, Kind, Lexer, Piece, Token};
use super::quote::quote;
use super::reads::Reads;

/// Returns its argument and counts it.
pub(super) const METER: &str = "__tamis_meter";
/// As the meter, and makes Go's truth of a value.
pub(super) const CONDITION: &str = "__tamis_condition";
/// A float that stays one even if it is whole.
pub(super) const FLOAT: &str = "__tamis_float";

/// Bytes of a template: far above any that is written, low enough for the engine's look-up of variables.
const MAX_BYTES: usize = 64 << 10;
/// Open blocks, `else if`s and parentheses together. The engine recurses on them.
const MAX_NESTING: usize = 40;

/// The functions of Go's `text/template` but for `call`, which has nothing to call.
pub(super) const FUNCTIONS: [&str; 18] = [
    "and", "or", "not", "len", "index", "slice", "print", "printf", "println", "html", "js",
    "urlquery", "eq", "ne", "lt", "le", "gt", "ge",
];

/// A template for the engine.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// Where pieces begin: in `text`, in the template.
    marks: Vec<(usize, usize)>,
    /// The template names `Original` or `Omitted`.
    pub(super) names_cut: bool,
    /// The members of its data that it can read.
    pub(super) reads: Reads,
    /// The first member of the data that the template names, by its place, and is not one of [`TOTALS`]. Members of a dot
    /// that may be something else do not count.
    pub(super) other: Option<(usize, String)>,
    /// The same of those that are not `Remaining` either.
    pub(super) unknown: Option<(usize, String)>,
    /// Bytes that it takes when it is compiled, about.
    pub(super) memory: usize,
}

/// Bytes of a pipeline with its call of the meter, and of one of its words, when they are compiled (measured).
const PIPELINE: usize = 5 << 9;
const WORD: usize = 1 << 9;
/// Bytes of a template without any, and of a byte of text.
const TEMPLATE: usize = 5 << 10;
const TEXT: usize = 8;

/// What a header has; a footer also has `Remaining`.
const TOTALS: [&str; 4] = ["Total", "Count", "Original", "Omitted"];

impl Rewritten {
    /// The byte of the template that stands at this line and column (from 1, in bytes) of the text.
    pub(super) fn origin(&self, line: usize, column: usize) -> usize {
        let before: usize =
            self.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let at = before + column.saturating_sub(1);
        let next = self.marks.partition_point(|(new, _)| *new <= at);
        next.checked_sub(1).and_then(|index| self.marks.get(index)).map_or(0, |(_, old)| *old)
    }
}

/// Rewrites a template.
pub(super) fn rewrite(template: &str) -> Result<Rewritten, Fault> {
    if template.len() > MAX_BYTES {
        let message =
            format!("the template has {} bytes; at most {MAX_BYTES} are allowed", template.len());
        return Err(Fault::limit(0, message));
    }
    let mut writer = Writer {
        template,
        out: Rewritten {
            text: String::new(),
            marks: Vec::new(),
            names_cut: false,
            reads: Reads::Named(BTreeSet::new()),
            other: None,
            unknown: None,
            memory: TEMPLATE + TEXT * template.len(),
        },
        open: Vec::new(),
    };
    let mut lexer = Lexer::new(template);
    while let Some(piece) = lexer.next()? {
        match piece {
            Piece::Verbatim(span) => writer.copy(&span),
            Piece::Action { left, tokens, right } => writer.action(&left, &tokens, &right)?,
        }
    }
    match writer.open.last() {
        Some(open) => Err(Fault::new(open.at, format!("{{{{{}}}}} has no {{{{end}}}}", open.word))),
        None => Ok(writer.out),
    }
}

struct Open {
    at: usize,
    word: &'static str,
    /// It, and the `else if` and `else with` that hang on it.
    levels: usize,
    /// `{{end}}`s that stand in for those of `else with`.
    ends: usize,
    has_else: bool,
    /// Whether `.` is the data around it, and in the branch that is open.
    around: bool,
    dot: bool,
}

struct Writer<'t> {
    template: &'t str,
    out: Rewritten,
    open: Vec<Open>,
}

impl Writer<'_> {
    fn text(&self, span: &Range<usize>) -> &str {
        self.template.get(span.clone()).unwrap_or_default()
    }

    fn mark(&mut self, at: usize) {
        self.out.marks.push((self.out.text.len(), at));
    }

    fn copy(&mut self, span: &Range<usize>) {
        self.mark(span.start);
        self.out.text.push_str(self.template.get(span.clone()).unwrap_or_default());
    }

    fn nesting(&self, at: usize, parentheses: usize) -> Result<(), Fault> {
        let blocks: usize = self.open.iter().map(|open| open.levels).sum();
        if blocks + parentheses > MAX_NESTING {
            let message = format!(
                "blocks, else ifs and parentheses are nested more than {MAX_NESTING} deep; use {{{{define}}}} and {{{{template}}}}"
            );
            return Err(Fault::limit(at, message));
        }
        Ok(())
    }

    fn action(
        &mut self,
        left: &Range<usize>,
        tokens: &[Token],
        right: &Range<usize>,
    ) -> Result<(), Fault> {
        self.copy(left);
        let words = tokens.iter().filter(|token| token.kind != Kind::Space).count();
        self.out.memory += PIPELINE + WORD * words;
        let first = tokens.iter().position(|token| token.kind != Kind::Space);
        let first = first.unwrap_or(tokens.len());
        let keyword = tokens
            .get(first)
            .filter(|token| token.kind == Kind::Word)
            .map(|token| (self.text(&token.span).to_owned(), token.span.start));
        let (word, at) = match &keyword {
            Some((word, at)) => (word.as_str(), *at),
            None => ("", left.start),
        };
        let rest = tokens.get(first + 1..).unwrap_or_default();
        match word {
            "if" => self.block("if", at, rest, CONDITION)?,
            "with" => self.block("with", at, rest, CONDITION)?,
            "range" => self.block("range", at, rest, METER)?,
            "block" => {
                self.open("block", at)?;
                self.named("block", at, rest)?;
                self.enter();
            }
            "define" => {
                self.open("define", at)?;
                self.enter();
                self.out.text.push_str("define");
                for token in rest {
                    self.literal(token);
                }
            }
            "template" => self.named("template", at, rest)?,
            "else" => self.otherwise(at, rest)?,
            "end" => {
                let Some(open) = self.open.pop() else {
                    return Err(Fault::new(at, "unexpected {{end}}"));
                };
                self.only(rest)?;
                for _ in 0..open.ends {
                    self.out.text.push_str("end}}{{");
                }
                self.out.text.push_str("end");
            }
            "break" | "continue" => {
                self.only(rest)?;
                self.mark(at);
                self.out.text.push_str(word);
            }
            _ => self.pipeline(tokens, METER)?,
        }
        self.copy(right);
        Ok(())
    }

    fn open(&mut self, word: &'static str, at: usize) -> Result<(), Fault> {
        let dot = self.is_data();
        self.open.push(Open { at, word, levels: 1, ends: 0, has_else: false, around: dot, dot });
        self.nesting(at, 0)
    }

    /// Whether `.` is the data here.
    fn is_data(&self) -> bool {
        self.open.last().is_none_or(|open| open.dot)
    }

    /// In what was opened last `.` is another value.
    fn enter(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.dot = false;
        }
    }

    /// A chain of fields that begins with this token.
    fn reads(&mut self, first: &Token, second: Option<&Token>) {
        let of_data = match first.kind {
            Kind::Variable => self.text(&first.span) == "$",
            _ => self.is_data(),
        };
        if !of_data {
            return;
        }
        let field = if first.kind == Kind::Field { Some(first) } else { second };
        let name = field.filter(|token| token.kind == Kind::Field);
        let name = name.map(|token| self.text(&token.span).trim_start_matches('.').to_owned());
        match (name, &mut self.out.reads) {
            (Some(name), Reads::Named(names)) => {
                names.insert(name);
            }
            (None, reads) => *reads = Reads::All,
            (Some(_), Reads::All) => {}
        }
    }

    fn block(
        &mut self,
        word: &'static str,
        at: usize,
        rest: &[Token],
        last: &str,
    ) -> Result<(), Fault> {
        self.open(word, at)?;
        self.mark(at);
        self.out.text.push_str(word);
        self.pipeline(rest, last)?;
        if word != "if" {
            self.enter();
        }
        Ok(())
    }

    fn only(&self, rest: &[Token]) -> Result<(), Fault> {
        match rest.iter().find(|token| token.kind != Kind::Space) {
            Some(token) => {
                let text = self.text(&token.span);
                Err(Fault::new(token.span.start, format!("unexpected {text} before }}}}")))
            }
            None => Ok(()),
        }
    }

    /// `{{template "name" pipeline}}`, `{{block "name" pipeline}}`.
    fn named(&mut self, word: &str, at: usize, rest: &[Token]) -> Result<(), Fault> {
        let name = rest.iter().position(|token| token.kind != Kind::Space).unwrap_or(rest.len());
        let (Some(token @ Token { kind: Kind::Text(_), .. }), pipeline) =
            (rest.get(name), rest.get(name + 1..).unwrap_or_default())
        else {
            let message = format!("{{{{{word}}}}} needs a quoted name");
            return Err(Fault::new(rest.get(name).map_or(at, |token| token.span.start), message));
        };
        self.mark(at);
        self.out.text.push_str(word);
        self.out.text.push(' ');
        self.literal(token);
        self.pipeline(pipeline, METER)
    }

    fn otherwise(&mut self, at: usize, rest: &[Token]) -> Result<(), Fault> {
        let first = rest.iter().position(|token| token.kind != Kind::Space).unwrap_or(rest.len());
        let chained = rest
            .get(first)
            .filter(|token| token.kind == Kind::Word)
            .map(|token| (self.text(&token.span).to_owned(), token.span.start));
        let pipeline = rest.get(first + 1..).unwrap_or_default();
        let Some(open) = self.open.last_mut() else {
            return Err(Fault::new(at, "unexpected {{else}}"));
        };
        // What is instead is about what is around.
        open.dot = open.around;
        if open.has_else || matches!(open.word, "define" | "block") {
            return Err(Fault::new(at, "unexpected {{else}}"));
        }
        match chained.as_ref().map(|(word, at)| (word.as_str(), *at)) {
            Some(("if", inner)) if open.word == "if" => {
                open.levels += 1;
                self.nesting(at, 0)?;
                self.mark(inner);
                self.out.text.push_str("else if");
                self.pipeline(pipeline, CONDITION)
            }
            Some(("with", inner)) if open.word == "with" => {
                open.levels += 1;
                open.ends += 1;
                self.nesting(at, 0)?;
                self.mark(inner);
                self.out.text.push_str("else}}{{with");
                self.pipeline(pipeline, CONDITION)?;
                self.enter();
                Ok(())
            }
            _ => {
                open.has_else = true;
                self.only(rest)?;
                self.mark(at);
                self.out.text.push_str("else");
                Ok(())
            }
        }
    }

    /// A pipeline, with its declarations, and the call at its end.
    fn pipeline(&mut self, tokens: &[Token], last: &str) -> Result<(), Fault> {
        let declares =
            tokens.iter().any(|token| matches!(token.kind, Kind::Declare | Kind::Assign));
        // What is declared is the value itself.
        let last = if declares { METER } else { last };
        let mut commands = vec![Command::default()];
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let depth = commands.len();
            let Some(command) = commands.last_mut() else { break };
            let start = token.span.start;
            if token.kind.is_operand() {
                // Two operands that touch are an error in Go, but for the fields of one.
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                let touches = before.is_some_and(|before| before.kind.ends_operand());
                if touches && token.kind != Kind::Field {
                    let text = self.text(&token.span);
                    return Err(Fault::new(start, format!("unexpected {text} after an operand")));
                }
                command.pipeline_is_empty = false;
            }
            match &token.kind {
                Kind::Open => {
                    command.words += 1;
                    commands.push(Command::default());
                    self.nesting(start, depth)?;
                    self.out.memory += PIPELINE;
                    self.copy(&token.span);
                }
                Kind::Close => {
                    let empty = command.pipeline_is_empty;
                    if depth == 1 {
                        return Err(Fault::new(start, "unexpected right parenthesis"));
                    }
                    commands.pop();
                    self.end(empty, METER);
                    self.copy(&token.span);
                }
                Kind::Pipe => {
                    // Only calls that count their own arguments may take one uncounted.
                    let next = tokens.get(at + 1..).unwrap_or_default().iter();
                    let next = next.clone().find(|token| token.kind != Kind::Space);
                    if next.is_some_and(|next| is_lazy(self.text(&next.span))) {
                        self.end(command.pipeline_is_empty, METER);
                    }
                    command.next_stage();
                    self.copy(&token.span);
                }
                Kind::Declare | Kind::Assign => {
                    *command = Command::default();
                    self.copy(&token.span);
                }
                Kind::Space | Kind::Comma => self.copy(&token.span),
                Kind::Word => {
                    let word = self.text(&token.span);
                    let is_function = FUNCTIONS.contains(&word);
                    if !is_function && !matches!(word, "true" | "false" | "nil") {
                        let message = match word {
                            "if" | "else" | "end" | "with" | "range" | "define" | "template"
                            | "block" | "break" | "continue" => format!("unexpected {word}"),
                            _ => format!("there is no function {word:?}"),
                        };
                        return Err(Fault::new(start, message));
                    }
                    command.literal_stage(is_function, start)?;
                    command.lazy |= command.words == 0 && is_lazy(word);
                    command.words += 1;
                    self.copy(&token.span);
                }
                Kind::Text(_) | Kind::Integer(_) | Kind::Float(_) => {
                    command.literal_stage(false, start)?;
                    command.words += 1;
                    self.names(token);
                    self.literal(token);
                }
                Kind::Dot | Kind::Variable | Kind::Field => {
                    let is_dot = token.kind == Kind::Dot;
                    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                    let of_value = token.kind == Kind::Field
                        && before.is_some_and(|before| before.kind.ends_operand());
                    // A field behind parentheses belongs to their operand, which is counted inside them.
                    if !of_value {
                        command.literal_stage(!is_dot, start)?;
                        command.words += 1;
                        self.reads(token, tokens.get(at + 1));
                    }
                    // One that is piped in, and one beside it, are counted by the call; of more than those none may wait.
                    let wrap = !of_value && (command.lazy || command.words > 3);
                    self.member(tokens, at);
                    let fields = tokens.get(at + 1..).unwrap_or_default().iter();
                    let fields = fields.take_while(|token| token.kind == Kind::Field).count();
                    if wrap {
                        self.out.memory += PIPELINE;
                        self.out.text.push('(');
                    }
                    for token in tokens.get(at..=at + fields).unwrap_or_default() {
                        self.names(token);
                        self.copy(&token.span);
                    }
                    at += fields;
                    if wrap {
                        self.end(false, METER);
                        self.out.text.push(')');
                    }
                }
            }
            at += 1;
        }
        if commands.len() > 1 {
            let open = tokens.iter().rfind(|token| token.kind == Kind::Open);
            let at = open.map_or(0, |token| token.span.start);
            return Err(Fault::new(at, "unclosed left parenthesis"));
        }
        self.end(commands.first().is_none_or(|command| command.pipeline_is_empty), last);
        Ok(())
    }

    /// The call at the end of a pipeline; none, if there is no pipeline, so that the engine says so.
    fn end(&mut self, is_empty: bool, call: &str) {
        if !is_empty {
            self.out.text.push_str(" | ");
            self.out.text.push_str(call);
        }
    }

    /// Remembers the member of the data that the operand at `at` names, if it does.
    fn member(&mut self, tokens: &[Token], at: usize) {
        let before = at.checked_sub(1).and_then(|before| tokens.get(before));
        let field = |at: usize| tokens.get(at).filter(|token| token.kind == Kind::Field);
        let named = match tokens.get(at) {
            Some(token) if token.kind == Kind::Field => {
                let is_data = self.open.iter().all(|open| open.word == "if")
                    && !before.is_some_and(|before| before.kind.ends_operand());
                is_data.then_some(token)
            }
            Some(token) if self.text(&token.span) == "$" => field(at + 1),
            _ => None,
        };
        // The data of a template that is defined is what it is called with.
        let Some(token) = named
            .filter(|_| self.open.iter().all(|open| open.word != "define" && open.word != "block"))
        else {
            return;
        };
        let name = self.text(&token.span).trim_start_matches('.').to_owned();
        if TOTALS.contains(&name.as_str()) {
            return;
        }
        let found = (token.span.start, name);
        if found.1 != "Remaining" {
            self.out.unknown.get_or_insert_with(|| found.clone());
        }
        self.out.other.get_or_insert(found);
    }

    fn names(&mut self, token: &Token) {
        let name = match &token.kind {
            Kind::Text(text) => text.as_str(),
            Kind::Field => self.text(&token.span).trim_start_matches('.'),
            _ => return,
        };
        self.out.names_cut |= matches!(name, "Original" | "Omitted");
    }

    fn literal(&mut self, token: &Token) {
        match &token.kind {
            Kind::Text(text) => {
                self.mark(token.span.start);
                quote(text, &mut self.out.text);
            }
            Kind::Integer(value) => {
                self.mark(token.span.start);
                self.out.text.push_str(&value.to_string());
            }
            Kind::Float(value) => {
                self.mark(token.span.start);
                // The engine makes an integer of a whole float that it reads, and of zero there is one alone.
                let text = match *value {
                    0.0 => String::from("0"),
                    value if value.fract() == 0.0 => format!("({FLOAT} \"{value:e}\")"),
                    value => format!("{value:e}"),
                };
                self.out.text.push_str(&text);
            }
            _ => self.copy(&token.span),
        }
    }
}

/// The command that is being read, of one pair of parentheses.
#[derive(Clone, Copy)]
struct Command {
    pipeline_is_empty: bool,
    /// Operands so far.
    words: usize,
    stage: usize,
    /// It calls `and` or `or`, whose arguments are not counted by a call.
    lazy: bool,
}

impl Default for Command {
    fn default() -> Self {
        Self { pipeline_is_empty: true, words: 0, stage: 1, lazy: false }
    }
}

impl Command {
    fn next_stage(&mut self) {
        self.words = 0;
        self.lazy = false;
        self.stage += 1;
    }

    /// A value cannot take what is piped into it.
    fn literal_stage(&self, is_call: bool, at: usize) -> Result<(), Fault> {
        if self.stage > 1 && self.words == 0 && !is_call {
            let message = format!("non executable command in pipeline stage {}", self.stage);
            return Err(Fault::new(at, message));
        }
        Ok(())
    }
}

impl Kind {
    fn is_operand(&self) -> bool {
        matches!(
            self,
            Self::Text(_)
                | Self::Integer(_)
                | Self::Float(_)
                | Self::Word
                | Self::Field
                | Self::Dot
                | Self::Variable
                | Self::Open
        )
    }

    fn ends_operand(&self) -> bool {
        (self.is_operand() && *self != Self::Open) || *self == Self::Close
    }
}

fn is_lazy(word: &str) -> bool {
    matches!(word, "and" | "or")
}
