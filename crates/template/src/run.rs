//! Renders a tree: computes its pipelines and writes its text.
//!
//! Recursion is bounded: by the nesting of the tree within a body, and by [`MAX_DEPTH`] across bodies.

use super::buffer::TextBuffer;
use super::format::Printer;
use super::functions::{RenderFault, call, check_arity};
use super::quota::Quota;
use super::tree::{Builtin, Operand, Pipeline, Stage, Statement, TemplateTree, Term};
use super::value::{GoValue, Record};

/// The greatest number of blocks and templates that run inside each other.
const MAX_DEPTH: usize = 100;
/// The greatest number of variables of all templates that run.
const MAX_VARIABLES: usize = 64 << 10;

/// A fault and the byte of the template where it happened.
pub(super) struct PlacedFault {
    pub(super) at: usize,
    /// The text did not fit into the caller's room.
    pub(super) no_room: bool,
    pub(super) fault: RenderFault,
}

trait At<T> {
    fn at(self, at: usize) -> Result<T, PlacedFault>;
}

impl<T> At<T> for Result<T, RenderFault> {
    fn at(self, at: usize) -> Result<T, PlacedFault> {
        self.map_err(|fault| PlacedFault { at, no_room: false, fault })
    }
}

fn fail<T>(at: usize, message: impl Into<String>) -> Result<T, PlacedFault> {
    Err(PlacedFault { at, no_room: false, fault: RenderFault::new(message) })
}

/// Appends the text of a template to `out`, at most `room` bytes. On an error some text may have been appended.
pub(super) fn render(
    tree: &TemplateTree,
    source: &str,
    data: &Record,
    room: usize,
    out: &mut Vec<u8>,
) -> Result<(), PlacedFault> {
    let mut renderer = Renderer {
        tree,
        source,
        slots: Vec::new(),
        frame: 0,
        arguments: Vec::new(),
        depth: 0,
        quota: Quota::new(),
        room,
        out,
    };
    renderer.body(0, "", 0, &GoValue::Map(data))
}

/// The effect of a statement on the loop around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopStep {
    Next,
    Break,
    Continue,
}

struct Renderer<'a, 'o> {
    tree: &'a TemplateTree,
    source: &'a str,
    /// The variables of all bodies that run. Those of the innermost begin at `frame`.
    slots: Vec<GoValue<'a>>,
    frame: usize,
    /// The arguments of calls whose arguments are being computed.
    arguments: Vec<GoValue<'a>>,
    depth: usize,
    quota: Quota,
    /// Bytes that may still be written.
    room: usize,
    out: &'o mut Vec<u8>,
}

impl<'a> Renderer<'a, '_> {
    fn enter(&mut self, at: usize) -> Result<(), PlacedFault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message =
                format!("more than {MAX_DEPTH} templates and blocks run inside each other");
            return Err(RenderFault::limit(message)).at(at);
        }
        Ok(())
    }

    /// Runs a body with its own variables.
    fn body(
        &mut self,
        index: usize,
        name: &str,
        at: usize,
        dot: &GoValue<'a>,
    ) -> Result<(), PlacedFault> {
        let Some(body) = self.tree.bodies.get(index).and_then(Option::as_ref) else {
            return fail(at, format!("template {name:?} is not defined"));
        };
        let (frame, end) = (self.frame, self.slots.len());
        if end + body.slots > MAX_VARIABLES {
            let message =
                format!("the templates that run have more than {MAX_VARIABLES} variables");
            return Err(RenderFault::limit(message)).at(at);
        }
        self.quota.step(body.slots * size_of::<GoValue<'_>>()).at(at)?;
        self.frame = end;
        self.slots.resize(end + body.slots, GoValue::Missing);
        self.assign(0, dot);
        self.list(&body.statements, dot)?;
        self.slots.truncate(end);
        self.frame = frame;
        Ok(())
    }

    fn assign(&mut self, slot: usize, value: &GoValue<'a>) {
        if let Some(variable) = self.slots.get_mut(self.frame + slot) {
            *variable = value.clone();
        }
    }

    fn list(
        &mut self,
        statements: &'a [Statement],
        dot: &GoValue<'a>,
    ) -> Result<LoopStep, PlacedFault> {
        for statement in statements {
            let step = match statement {
                Statement::Text(span) => {
                    let text = self.source.get(span.clone()).unwrap_or_default();
                    self.write(span.start, |out| out.push_str(text))?;
                    LoopStep::Next
                }
                Statement::Print(pipeline) => {
                    let value = self.pipeline(pipeline, dot)?;
                    if pipeline.targets.is_empty() {
                        self.write(pipeline.at(), |out| Printer::new(out).print_action(&value))?;
                    }
                    LoopStep::Next
                }
                Statement::Conditional { is_with, branches, otherwise } => {
                    self.conditional(*is_with, branches, otherwise, dot)?
                }
                Statement::Range { pipeline, body, otherwise } => {
                    self.range(pipeline, body, otherwise, dot)?
                }
                Statement::Call { at, name, body, argument, .. } => {
                    self.quota.turn().at(*at)?;
                    let value = match argument {
                        Some(pipeline) => self.pipeline(pipeline, dot)?,
                        None => GoValue::Missing,
                    };
                    self.enter(*at)?;
                    self.body(*body, name, *at, &value)?;
                    self.depth -= 1;
                    LoopStep::Next
                }
                Statement::Break => LoopStep::Break,
                Statement::Continue => LoopStep::Continue,
            };
            if step != LoopStep::Next {
                return Ok(step);
            }
        }
        Ok(LoopStep::Next)
    }

    /// Writes to the output, within the room and the quota.
    fn write(
        &mut self,
        at: usize,
        write: impl FnOnce(&mut TextBuffer<'_>),
    ) -> Result<(), PlacedFault> {
        let before = self.out.len();
        let kept = self.quota.text();
        let mut out = TextBuffer::new(self.out, self.room.min(kept));
        write(&mut out);
        if out.is_full() {
            let no_room = self.room <= kept;
            return Err(PlacedFault { at, no_room, fault: RenderFault::too_long() });
        }
        let written = self.out.len() - before;
        self.room -= written;
        self.quota.write(written);
        Ok(())
    }

    fn conditional(
        &mut self,
        is_with: bool,
        branches: &'a [(Pipeline, Vec<Statement>)],
        otherwise: &'a [Statement],
        dot: &GoValue<'a>,
    ) -> Result<LoopStep, PlacedFault> {
        for (pipeline, body) in branches {
            let value = self.pipeline(pipeline, dot)?;
            if value.is_true() {
                self.enter(pipeline.at())?;
                let step = self.list(body, if is_with { &value } else { dot })?;
                self.depth -= 1;
                return Ok(step);
            }
        }
        if otherwise.is_empty() {
            return Ok(LoopStep::Next);
        }
        self.enter(branches.first().map_or(0, |(pipeline, _)| pipeline.at()))?;
        let step = self.list(otherwise, dot)?;
        self.depth -= 1;
        Ok(step)
    }

    fn range(
        &mut self,
        pipeline: &'a Pipeline,
        body: &'a [Statement],
        otherwise: &'a [Statement],
        dot: &GoValue<'a>,
    ) -> Result<LoopStep, PlacedFault> {
        let at = pipeline.at();
        let value = self.pipeline(pipeline, dot)?;
        self.enter(at)?;
        let mut ran = false;
        match &value {
            GoValue::List(elements) => {
                for (index, element) in (0_i64..).zip(elements.iter()) {
                    ran = true;
                    let index = GoValue::Int(index);
                    if self.turn(pipeline, body, &index, &element.into())? == LoopStep::Break {
                        break;
                    }
                }
            }
            GoValue::Map(members) => {
                for (name, member) in members.iter() {
                    ran = true;
                    let name = GoValue::Text(name);
                    if self.turn(pipeline, body, &name, &member.into())? == LoopStep::Break {
                        break;
                    }
                }
            }
            GoValue::Int(_) | GoValue::Uint(_) if pipeline.targets.len() > 1 => {
                return fail(at, "can't use a number to iterate over more than one variable");
            }
            GoValue::Int(count) => {
                for number in 0..*count {
                    ran = true;
                    let number = GoValue::Int(number);
                    if self.turn(pipeline, body, &GoValue::Missing, &number)? == LoopStep::Break {
                        break;
                    }
                }
            }
            GoValue::Uint(count) => {
                for number in 0..*count {
                    ran = true;
                    let number = GoValue::Uint(number);
                    if self.turn(pipeline, body, &GoValue::Missing, &number)? == LoopStep::Break {
                        break;
                    }
                }
            }
            value if value.is_nil() => {}
            value => return fail(at, format!("range can't iterate over a {}", value.kind())),
        }
        let step = if ran { LoopStep::Next } else { self.list(otherwise, dot)? };
        self.depth -= 1;
        Ok(step)
    }

    /// Runs the body of a loop once.
    fn turn(
        &mut self,
        pipeline: &Pipeline,
        body: &'a [Statement],
        index: &GoValue<'a>,
        element: &GoValue<'a>,
    ) -> Result<LoopStep, PlacedFault> {
        self.quota.turn().at(pipeline.at())?;
        match pipeline.targets.as_slice() {
            [one] => self.assign(*one, element),
            [first, second, ..] => {
                self.assign(*first, index);
                self.assign(*second, element);
            }
            [] => {}
        }
        self.list(body, element)
    }

    /// Computes a pipeline and assigns its variables. Null becomes a missing value, as in Go.
    fn pipeline(
        &mut self,
        pipeline: &'a Pipeline,
        dot: &GoValue<'a>,
    ) -> Result<GoValue<'a>, PlacedFault> {
        let mut value: Option<GoValue<'a>> = None;
        for stage in &pipeline.stages {
            value = Some(match self.stage(stage, value, dot)? {
                GoValue::Null => GoValue::Missing,
                value => value,
            });
        }
        let value = value.unwrap_or(GoValue::Missing);
        for slot in &pipeline.targets {
            self.assign(*slot, &value);
        }
        Ok(value)
    }

    /// Computes a stage. `last` is the value that is piped in: the last argument.
    fn stage(
        &mut self,
        stage: &'a Stage,
        last: Option<GoValue<'a>>,
        dot: &GoValue<'a>,
    ) -> Result<GoValue<'a>, PlacedFault> {
        let Some((first, arguments)) = stage.operands.split_first() else {
            return Ok(GoValue::Missing);
        };
        if let (Term::Builtin(builtin), true) = (&first.term, first.fields.is_empty()) {
            return self.call(*builtin, first.at, arguments, last, dot);
        }
        let has_arguments = !arguments.is_empty() || last.is_some();
        if let Term::Nil = first.term {
            return fail(first.at, "nil is not a command");
        }
        let value = self.operand(first, dot, has_arguments)?;
        if has_arguments && first.fields.is_empty() {
            return fail(first.at, "only a function can have arguments");
        }
        Ok(value)
    }

    /// Calls a function. The arguments of `and` and `or` are computed only until one decides.
    fn call(
        &mut self,
        builtin: Builtin,
        at: usize,
        operands: &'a [Operand],
        last: Option<GoValue<'a>>,
        dot: &GoValue<'a>,
    ) -> Result<GoValue<'a>, PlacedFault> {
        check_arity(builtin, operands.len() + usize::from(last.is_some())).at(at)?;
        self.quota.step(0).at(at)?;
        let start = self.arguments.len();
        let deciding = match builtin {
            Builtin::And => Some(false),
            Builtin::Or => Some(true),
            _ => None,
        };
        for operand in operands {
            let value = self.argument(operand, dot)?;
            if deciding == Some(value.is_true()) {
                self.arguments.truncate(start);
                return Ok(value);
            }
            self.arguments.push(value);
        }
        self.arguments.extend(last);
        let arguments = self.arguments.get(start..).unwrap_or_default();
        let result = call(builtin, arguments, &mut self.quota).at(at);
        self.arguments.truncate(start);
        result
    }

    fn argument(
        &mut self,
        operand: &'a Operand,
        dot: &GoValue<'a>,
    ) -> Result<GoValue<'a>, PlacedFault> {
        match operand.term {
            Term::Builtin(builtin) if operand.fields.is_empty() => {
                self.call(builtin, operand.at, &[], None, dot)
            }
            _ => self.operand(operand, dot, false),
        }
    }

    /// Computes an operand that is not a function.
    fn operand(
        &mut self,
        operand: &'a Operand,
        dot: &GoValue<'a>,
        has_arguments: bool,
    ) -> Result<GoValue<'a>, PlacedFault> {
        let at = operand.at;
        self.quota.step(0).at(at)?;
        let mut value = match &operand.term {
            Term::Dot => dot.clone(),
            Term::Nil => GoValue::Null,
            Term::Bool(value) => GoValue::Bool(*value),
            Term::Int(value) => GoValue::Int(*value),
            Term::Float(value) => GoValue::Float(*value),
            Term::Text(text) => GoValue::Text(text),
            Term::Variable(slot) => {
                self.slots.get(self.frame + slot).cloned().unwrap_or(GoValue::Missing)
            }
            Term::Pipeline(pipeline) => self.pipeline(pipeline, dot)?,
            Term::Builtin(builtin) => self.call(*builtin, at, &[], None, dot)?,
        };
        for (index, name) in operand.fields.iter().enumerate() {
            value = match value {
                GoValue::Missing => break,
                GoValue::Map(_) if has_arguments && index + 1 == operand.fields.len() => {
                    return fail(at, format!("{name} is not a method but has arguments"));
                }
                GoValue::Map(members) => {
                    self.quota.step(name.len()).at(at)?;
                    members.get(name).map_or(GoValue::Missing, GoValue::from)
                }
                GoValue::Null => return fail(at, format!("null has no field {name}")),
                value => {
                    let kind = value.kind();
                    return fail(
                        at,
                        format!("a value of type {kind} has no fields, so no field {name}"),
                    );
                }
            };
        }
        Ok(value)
    }
}

impl Pipeline {
    /// The byte of the template where the first operand begins.
    pub(super) fn at(&self) -> usize {
        let first = self.stages.first().and_then(|stage| stage.operands.first());
        first.map_or(0, |operand| operand.at)
    }
}
