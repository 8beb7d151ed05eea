//! Parses a template into a tree, as Go's `text/template/parse` does.
//!
//! Recursion is bounded: a template that nests blocks, `else if`s and parentheses more than [`MAX_NESTING`] deep is refused.
//! Variables are resolved to slots, and names of templates to indices, so that rendering looks up neither.

use std::collections::HashMap;

use super::lex::{TemplateFault, TemplateLexer, TemplatePiece, TemplateToken, TokenKind};
use super::tree::{Builtin, Operand, Pipeline, Stage, Statement, TemplateBody, TemplateTree, Term};

/// The longest template in bytes, far above any that people write.
const MAX_BYTES: usize = 64 << 10;
/// The greatest number of open blocks, `else if`s and parentheses. Parsing and rendering recurse on them.
const MAX_NESTING: usize = 40;

/// Bytes that an allocation takes besides its content.
const ALLOCATION: usize = 32;
const STATEMENT: usize = size_of::<Statement>() + size_of::<Pipeline>() + ALLOCATION;
const OPERAND: usize = size_of::<Stage>() + size_of::<Operand>() + 2 * ALLOCATION;
const FIELD: usize = size_of::<Box<str>>() + 2 * ALLOCATION;

/// Parses a template.
pub(super) fn parse(template: &str) -> Result<TemplateTree, TemplateFault> {
    if template.len() > MAX_BYTES {
        let message =
            format!("the template has {} bytes; at most {MAX_BYTES} are allowed", template.len());
        return Err(TemplateFault::limit(0, message));
    }
    let mut parser = TemplateParser {
        template,
        lexer: TemplateLexer::new(template),
        action: OpenAction::default(),
        nesting: 0,
        loops: 0,
        variables: vec!["$"],
        scope: vec![0],
        slots: 1,
        bodies: vec![None],
        names: HashMap::new(),
        memory: size_of::<TemplateTree>() + template.len(),
    };
    let (statements, end) = parser.list(true)?;
    if let ListEnd::Else(at) = end {
        return Err(TemplateFault::new(at, "unexpected {{else}}"));
    }
    if let ListEnd::Close(at) = end {
        return Err(TemplateFault::new(at, "unexpected {{end}}"));
    }
    let body = TemplateBody { statements, slots: parser.slots };
    let TemplateParser { mut bodies, memory, .. } = parser;
    if let Some(main) = bodies.first_mut() {
        *main = Some(body);
    }
    Ok(TemplateTree { bodies, memory })
}

/// The end of a list of statements.
enum ListEnd {
    Template,
    Else(usize),
    Close(usize),
}

/// The tokens of the action that is being parsed.
#[derive(Default)]
struct OpenAction {
    tokens: Vec<TemplateToken>,
    /// Index of the next token.
    next: usize,
    /// The byte of the closing delimiter.
    end: usize,
}

struct TemplateParser<'t> {
    template: &'t str,
    lexer: TemplateLexer<'t>,
    action: OpenAction,
    /// Open blocks, `else if`s and parentheses.
    nesting: usize,
    /// Open loops of the body that is being parsed.
    loops: usize,
    /// Names of the variables in scope, and their slots.
    variables: Vec<&'t str>,
    scope: Vec<usize>,
    /// Slots that the body needs.
    slots: usize,
    bodies: Vec<Option<TemplateBody>>,
    names: HashMap<String, usize>,
    memory: usize,
}

impl<'t> TemplateParser<'t> {
    fn text(&self, token: &TemplateToken) -> &'t str {
        self.template.get(token.span.clone()).unwrap_or_default()
    }

    fn peek(&self) -> Option<&TemplateToken> {
        self.action.tokens.get(self.action.next)
    }

    fn peek_kind(&self) -> Option<&TokenKind> {
        self.peek().map(|token| &token.kind)
    }

    fn skip_space(&mut self) {
        while self.peek_kind() == Some(&TokenKind::Space) {
            self.action.next += 1;
        }
    }

    fn take(&mut self) -> Option<TemplateToken> {
        let token = self.peek().cloned()?;
        self.action.next += 1;
        Some(token)
    }

    /// The place of the next token, or of the closing delimiter.
    fn place(&self) -> usize {
        self.peek().map_or(self.action.end, |token| token.span.start)
    }

    fn unexpected(&self, token: &TemplateToken, context: &str) -> TemplateFault {
        let text = self.text(token);
        TemplateFault::new(token.span.start, format!("unexpected {text} {context}"))
    }

    /// Takes the next word, if it is `word`.
    fn take_word(&mut self, word: &str) -> Option<usize> {
        self.skip_space();
        let token = self.peek().filter(|token| token.kind == TokenKind::Word)?;
        let at = token.span.start;
        (self.text(token) == word).then(|| {
            self.action.next += 1;
            at
        })
    }

    /// Refuses anything between here and the closing delimiter.
    fn close_action(&mut self) -> Result<(), TemplateFault> {
        self.skip_space();
        match self.peek() {
            Some(token) => Err(self.unexpected(token, "before }}")),
            None => Ok(()),
        }
    }

    fn enter(&mut self, at: usize) -> Result<(), TemplateFault> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            let message = format!(
                "blocks, else ifs and parentheses are nested more than {MAX_NESTING} deep; use {{{{define}}}} and {{{{template}}}}"
            );
            return Err(TemplateFault::limit(at, message));
        }
        Ok(())
    }

    /// Parses statements up to an `else` or `end` that belongs to none of them, whose keyword is then consumed.
    fn list(&mut self, is_top: bool) -> Result<(Vec<Statement>, ListEnd), TemplateFault> {
        let mut statements = Vec::new();
        while let Some(piece) = self.lexer.next()? {
            self.memory += STATEMENT;
            let (at, tokens, end) = match piece {
                TemplatePiece::Text(span) => {
                    statements.push(Statement::Text(span));
                    continue;
                }
                TemplatePiece::Action { at, tokens, end } => (at, tokens, end),
            };
            self.action = OpenAction { tokens, next: 0, end };
            self.skip_space();
            let keyword = self.peek().filter(|token| token.kind == TokenKind::Word).cloned();
            let word = keyword.as_ref().map_or("", |token| self.text(token));
            let at = keyword.as_ref().map_or(at, |token| token.span.start);
            self.action.next += 1;
            match word {
                "else" => return Ok((statements, ListEnd::Else(at))),
                "end" => {
                    self.close_action()?;
                    return Ok((statements, ListEnd::Close(at)));
                }
                "if" => statements.push(self.conditional(at, false)?),
                "with" => statements.push(self.conditional(at, true)?),
                "range" => statements.push(self.range(at)?),
                "define" if is_top => self.define(at)?,
                "block" => statements.push(self.block(at)?),
                "template" => {
                    let name = self.name(word, at)?;
                    self.skip_space();
                    let argument = match self.peek() {
                        Some(_) => Some(self.clause(word)?),
                        None => None,
                    };
                    let body = self.body_of(&name);
                    let (name, is_block) = (name.into_boxed_str(), false);
                    statements.push(Statement::Call { at, name, body, argument, is_block });
                }
                "break" | "continue" => {
                    self.close_action()?;
                    if self.loops == 0 {
                        let message = format!("{{{{{word}}}}} outside {{{{range}}}}");
                        return Err(TemplateFault::new(at, message));
                    }
                    let is_break = word == "break";
                    statements.push(if is_break { Statement::Break } else { Statement::Continue });
                }
                _ => {
                    self.action.next -= 1;
                    statements.push(Statement::Print(self.clause("command")?));
                }
            }
        }
        Ok((statements, ListEnd::Template))
    }

    /// Parses the statements of a block that begins at `at`. Returns the place of its `else`, if that ended them.
    fn block_list(
        &mut self,
        at: usize,
        word: &str,
    ) -> Result<(Vec<Statement>, Option<usize>), TemplateFault> {
        match self.list(false)? {
            (statements, ListEnd::Else(at)) => Ok((statements, Some(at))),
            (statements, ListEnd::Close(_)) => Ok((statements, None)),
            (_, ListEnd::Template) => {
                Err(TemplateFault::new(at, format!("{{{{{word}}}}} has no {{{{end}}}}")))
            }
        }
    }

    /// Parses the statements after a plain `else`.
    fn otherwise(&mut self, at: usize, word: &str) -> Result<Vec<Statement>, TemplateFault> {
        self.close_action()?;
        match self.block_list(at, word)? {
            (statements, None) => Ok(statements),
            (_, Some(at)) => Err(TemplateFault::new(at, "unexpected {{else}}")),
        }
    }

    /// Parses an `if` or `with` after its keyword. A variable of a branch is in scope in the branches after it.
    fn conditional(&mut self, at: usize, is_with: bool) -> Result<Statement, TemplateFault> {
        let word = if is_with { "with" } else { "if" };
        let (scope, nesting) = (self.variables.len(), self.nesting);
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        let mut branch_at = at;
        loop {
            self.enter(branch_at)?;
            let pipeline = self.clause(word)?;
            let inner = self.variables.len();
            let (body, next) = self.block_list(at, word)?;
            self.leave_scope(inner);
            branches.push((pipeline, body));
            let Some(else_at) = next else { break };
            if self.take_word(word).is_none() {
                otherwise = self.otherwise(at, word)?;
                break;
            }
            self.memory += STATEMENT;
            branch_at = else_at;
        }
        self.leave_scope(scope);
        self.nesting = nesting;
        Ok(Statement::Conditional { is_with, branches, otherwise })
    }

    fn range(&mut self, at: usize) -> Result<Statement, TemplateFault> {
        let scope = self.variables.len();
        self.enter(at)?;
        let pipeline = self.clause("range")?;
        let inner = self.variables.len();
        self.loops += 1;
        let (body, next) = self.block_list(at, "range")?;
        self.loops -= 1;
        self.leave_scope(inner);
        let otherwise = match next {
            Some(_) => self.otherwise(at, "range")?,
            None => Vec::new(),
        };
        self.leave_scope(scope);
        self.nesting -= 1;
        Ok(Statement::Range { pipeline, body, otherwise })
    }

    fn block(&mut self, at: usize) -> Result<Statement, TemplateFault> {
        let name = self.name("block", at)?;
        let argument = Some(self.clause("block")?);
        let body = self.body(at, &name, "block")?;
        let name = name.into_boxed_str();
        Ok(Statement::Call { at, name, body, argument, is_block: true })
    }

    fn define(&mut self, at: usize) -> Result<(), TemplateFault> {
        let name = self.name("define", at)?;
        self.close_action()?;
        self.body(at, &name, "define")?;
        Ok(())
    }

    /// Parses the quoted name after `define`, `block` or `template`.
    fn name(&mut self, word: &str, at: usize) -> Result<String, TemplateFault> {
        self.skip_space();
        match self.take() {
            Some(TemplateToken { kind: TokenKind::Text(name), .. }) => Ok(name),
            token => {
                let at = token.map_or(at, |token| token.span.start);
                Err(TemplateFault::new(at, format!("{{{{{word}}}}} needs a quoted name")))
            }
        }
    }

    fn body_of(&mut self, name: &str) -> usize {
        if let Some(index) = self.names.get(name) {
            return *index;
        }
        self.memory += name.len() + size_of::<TemplateBody>() + 2 * ALLOCATION;
        self.names.insert(name.to_owned(), self.bodies.len());
        self.bodies.push(None);
        self.bodies.len() - 1
    }

    /// Parses the body of a `define` or `block`, which sees no variable but its own `$`. Returns its index.
    ///
    /// If a name is defined twice, the definition that is not empty counts. Two definitions that are not empty are an error.
    fn body(&mut self, at: usize, name: &str, word: &str) -> Result<usize, TemplateFault> {
        self.enter(at)?;
        let variables = std::mem::replace(&mut self.variables, vec!["$"]);
        let scope = std::mem::replace(&mut self.scope, vec![0]);
        let slots = std::mem::replace(&mut self.slots, 1);
        let loops = std::mem::take(&mut self.loops);
        let (statements, next) = self.block_list(at, word)?;
        if let Some(at) = next {
            return Err(TemplateFault::new(at, "unexpected {{else}}"));
        }
        let body = TemplateBody { statements, slots: self.slots };
        (self.variables, self.scope, self.slots, self.loops) = (variables, scope, slots, loops);
        self.nesting -= 1;
        let index = self.body_of(name);
        let is_blank = |body: &TemplateBody| {
            body.statements.iter().all(|statement| match statement {
                Statement::Text(span) => {
                    self.template.get(span.clone()).unwrap_or_default().trim().is_empty()
                }
                _ => false,
            })
        };
        let replaces = match self.bodies.get(index).and_then(Option::as_ref) {
            Some(earlier) if is_blank(earlier) => true,
            Some(_) if is_blank(&body) => false,
            Some(_) => {
                let message = format!("multiple definitions of template {name:?}");
                return Err(TemplateFault::new(at, message));
            }
            None => true,
        };
        if let Some(slot) = self.bodies.get_mut(index).filter(|_| replaces) {
            *slot = Some(body);
        }
        Ok(index)
    }

    fn leave_scope(&mut self, variables: usize) {
        self.variables.truncate(variables);
        self.scope.truncate(variables);
    }

    /// Parses a pipeline up to the end of the action.
    fn clause(&mut self, context: &str) -> Result<Pipeline, TemplateFault> {
        let pipeline = self.pipeline(context)?;
        match self.peek() {
            Some(token) if token.kind == TokenKind::Close => {
                Err(TemplateFault::new(token.span.start, "unexpected right parenthesis"))
            }
            Some(token) => Err(self.unexpected(token, "in an action")),
            None => Ok(pipeline),
        }
    }

    /// Parses a pipeline up to a closing parenthesis or delimiter, which is not consumed.
    fn pipeline(&mut self, context: &str) -> Result<Pipeline, TemplateFault> {
        let (targets, declared) = self.targets(context)?;
        let mut stages: Vec<Stage> = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                None => break,
                Some(token) if token.kind == TokenKind::Close => break,
                Some(_) => {
                    let stage = self.stage(stages.len())?;
                    stages.push(stage);
                }
            }
        }
        if stages.is_empty() {
            return Err(TemplateFault::new(self.place(), format!("missing value for {context}")));
        }
        self.variables.extend(declared.iter().map(|(name, _)| *name));
        self.scope.extend(declared.iter().map(|(_, slot)| *slot));
        Ok(Pipeline { targets, stages })
    }

    /// Parses the variables before `:=` or `=`. Returns the slots of all of them, and those that are new with their names.
    #[allow(clippy::type_complexity, reason = "two lists, named where they are used")]
    fn targets(
        &mut self,
        context: &str,
    ) -> Result<(Vec<usize>, Vec<(&'t str, usize)>), TemplateFault> {
        let start = self.action.next;
        let mut names: Vec<TemplateToken> = Vec::new();
        let is_declaration = loop {
            self.skip_space();
            match self.take() {
                Some(token) if token.kind == TokenKind::Variable => names.push(token),
                _ => break None,
            }
            self.skip_space();
            match self.take().map(|token| token.kind) {
                Some(TokenKind::Declare) => break Some(true),
                Some(TokenKind::Assign) => break Some(false),
                Some(TokenKind::Comma) => {}
                _ => break None,
            }
        };
        let Some(is_declaration) = is_declaration else {
            // The variable is an operand.
            self.action.next = start;
            return Ok((Vec::new(), Vec::new()));
        };
        let most = if context == "range" { 2 } else { 1 };
        if let Some(token) = names.get(most) {
            let message = format!("too many declarations in {context}");
            return Err(TemplateFault::new(token.span.start, message));
        }
        let (mut targets, mut declared) = (Vec::new(), Vec::new());
        for token in &names {
            if is_declaration {
                targets.push(self.slots);
                declared.push((self.text(token), self.slots));
                self.slots += 1;
            } else {
                targets.push(self.slot(token)?);
            }
        }
        Ok((targets, declared))
    }

    fn slot(&self, token: &TemplateToken) -> Result<usize, TemplateFault> {
        let name = self.text(token);
        let index = self.variables.iter().rposition(|variable| *variable == name);
        index.and_then(|index| self.scope.get(index)).copied().ok_or_else(|| {
            TemplateFault::new(token.span.start, format!("undefined variable {name:?}"))
        })
    }

    /// Parses the stage of a pipeline that comes after `before` others, and the `|` after it.
    fn stage(&mut self, before: usize) -> Result<Stage, TemplateFault> {
        let mut operands: Vec<Operand> = Vec::new();
        loop {
            self.skip_space();
            let Some(token) = self.take() else { break };
            match token.kind {
                TokenKind::Pipe if operands.is_empty() => {
                    return Err(TemplateFault::new(token.span.start, "missing value before |"));
                }
                TokenKind::Pipe => break,
                TokenKind::Close => {
                    self.action.next -= 1;
                    break;
                }
                _ => {}
            }
            let operand = self.operand(token)?;
            if before > 0 && operands.is_empty() && operand.is_constant() {
                let message = format!("non executable command in pipeline stage {}", before + 1);
                return Err(TemplateFault::new(operand.at, message));
            }
            operands.push(operand);
            if let Some(token) = self.peek()
                && !matches!(token.kind, TokenKind::Space | TokenKind::Pipe | TokenKind::Close)
            {
                return Err(self.unexpected(token, "after an operand"));
            }
        }
        Ok(Stage { operands })
    }

    fn operand(&mut self, token: TemplateToken) -> Result<Operand, TemplateFault> {
        self.memory += OPERAND;
        let at = token.span.start;
        let mut fields: Vec<Box<str>> = Vec::new();
        let word = self.text(&token);
        let mut may_have_fields = false;
        let term = match token.kind {
            TokenKind::Dot => Term::Dot,
            TokenKind::Field => {
                may_have_fields = true;
                self.push_field(word, &mut fields);
                Term::Dot
            }
            TokenKind::Variable => {
                may_have_fields = true;
                Term::Variable(self.slot(&token)?)
            }
            TokenKind::Open => {
                may_have_fields = true;
                self.enter(at)?;
                self.memory += STATEMENT;
                let pipeline = self.pipeline("parentheses")?;
                if self.take().is_none() {
                    return Err(TemplateFault::new(at, "unclosed left parenthesis"));
                }
                self.nesting -= 1;
                Term::Pipeline(Box::new(pipeline))
            }
            TokenKind::Text(text) => {
                self.memory += text.len();
                Term::Text(text.into_boxed_str())
            }
            TokenKind::Integer(value) => Term::Int(value),
            TokenKind::Float(value) => Term::Float(value),
            TokenKind::Word => self.word(word, at)?,
            TokenKind::Space
            | TokenKind::Close
            | TokenKind::Pipe
            | TokenKind::Declare
            | TokenKind::Assign
            | TokenKind::Comma => return Err(self.unexpected(&token, "in a command")),
        };
        while let Some(token) = self.peek().filter(|token| token.kind == TokenKind::Field) {
            if !may_have_fields {
                return Err(self.unexpected(token, "after an operand"));
            }
            let name = self.text(token);
            self.push_field(name, &mut fields);
            self.action.next += 1;
        }
        Ok(Operand { at, term, fields })
    }

    fn push_field(&mut self, text: &str, fields: &mut Vec<Box<str>>) {
        self.memory += FIELD + text.len();
        fields.push(text.trim_start_matches('.').into());
    }

    fn word(&self, word: &str, at: usize) -> Result<Term, TemplateFault> {
        match word {
            "true" | "false" => Ok(Term::Bool(word == "true")),
            "nil" => Ok(Term::Nil),
            "if" | "else" | "end" | "with" | "range" | "define" | "template" | "block"
            | "break" | "continue" => Err(TemplateFault::new(at, format!("unexpected {word}"))),
            _ => match Builtin::find(word) {
                Some(builtin) => Ok(Term::Builtin(builtin)),
                None => Err(TemplateFault::new(at, format!("there is no function {word:?}"))),
            },
        }
    }
}

impl Operand {
    /// Whether it cannot take the value that is piped into a stage which begins with it.
    fn is_constant(&self) -> bool {
        match self.term {
            Term::Variable(_) | Term::Builtin(_) | Term::Pipeline(_) => false,
            _ => self.fields.is_empty(),
        }
    }
}
