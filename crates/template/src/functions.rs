//! The functions that templates call, as Go's `text/template` has them.
//!
//! `and` and `or` are not here: whether their arguments are computed depends on the arguments before.

use std::cmp::Ordering;
use std::rc::Rc;

use super::buffer::TextBuffer;
use super::escape::{html, js, url_query};
use super::format::Printer;
use super::quota::Quota;
use super::tree::Builtin;
use super::value::{Datum, GoValue};

/// Why a template cannot be rendered. The evaluator adds the place.
#[derive(Debug)]
pub(super) struct RenderFault {
    pub(super) message: String,
    pub(super) is_limit: bool,
}

impl RenderFault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_limit: false }
    }

    pub(super) fn limit(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_limit: true }
    }

    /// Returns the fault of text that exceeds the quota.
    pub(super) fn too_long() -> Self {
        Self::limit(
            "the template makes too much text; name the members that it needs, not what holds them",
        )
    }
}

fn fail<T>(message: impl Into<String>) -> Result<T, RenderFault> {
    Err(RenderFault::new(message))
}

/// Checks the number of arguments of a call.
pub(super) fn check_arity(builtin: Builtin, given: usize) -> Result<(), RenderFault> {
    let (least, most) = builtin.arity();
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let at_least = if most > least { "at least " } else { "" };
    let name = builtin.name();
    fail(format!("wrong number of args for {name}: want {at_least}{least} got {given}"))
}

/// Calls a function. The number of arguments was checked.
pub(super) fn call<'a>(
    builtin: Builtin,
    arguments: &[GoValue<'a>],
    quota: &mut Quota,
) -> Result<GoValue<'a>, RenderFault> {
    const MISSING: GoValue<'_> = GoValue::Missing;
    let first = arguments.first().unwrap_or(&MISSING);
    let second = arguments.get(1).unwrap_or(&MISSING);
    let others = arguments.get(1..).unwrap_or_default();
    Ok(match builtin {
        // The evaluator calls them only if no argument decides: the result is the last argument.
        Builtin::And | Builtin::Or => arguments.last().cloned().unwrap_or(MISSING),
        Builtin::Not => GoValue::Bool(!first.is_true()),
        Builtin::Len => GoValue::Int(length(first)?),
        Builtin::Index => index(first, others, quota)?,
        Builtin::Slice => slice(first, others, quota)?,
        Builtin::Eq => GoValue::Bool(equals_any(first, others, quota)?),
        Builtin::Ne => GoValue::Bool(!equal(first, second, quota)?),
        Builtin::Lt => GoValue::Bool(order(first, second, quota)?.is_lt()),
        Builtin::Le => GoValue::Bool(order(first, second, quota)?.is_le()),
        Builtin::Gt => GoValue::Bool(order(first, second, quota)?.is_gt()),
        Builtin::Ge => GoValue::Bool(order(first, second, quota)?.is_ge()),
        Builtin::Print => make(quota, |out| Printer::new(out).print(arguments))?,
        Builtin::Println => make(quota, |out| Printer::new(out).print_line(arguments))?,
        Builtin::Printf => {
            let Some(format) = first.as_text() else {
                return fail(format!(
                    "the format of printf must be a string, not {}",
                    first.kind()
                ));
            };
            make(quota, |out| Printer::new(out).print_format(format, others))?
        }
        Builtin::Html => escaped(arguments, quota, html)?,
        Builtin::Js => escaped(arguments, quota, js)?,
        Builtin::UrlQuery => escaped(arguments, quota, url_query)?,
    })
}

/// Returns the text that `write` writes, at most as much as the quota allows.
fn make<'a>(
    quota: &mut Quota,
    write: impl FnOnce(&mut TextBuffer<'_>),
) -> Result<GoValue<'a>, RenderFault> {
    let mut bytes = Vec::new();
    let mut out = TextBuffer::new(&mut bytes, quota.text());
    write(&mut out);
    if out.is_full() {
        return Err(RenderFault::too_long());
    }
    quota.make(bytes.len())?;
    let text = String::from_utf8(bytes).unwrap_or_default();
    Ok(GoValue::Made(Rc::from(text)))
}

/// Joins the arguments as `print` does and escapes the text. Null and missing values are both `<no value>` here.
fn escaped<'a>(
    arguments: &[GoValue<'a>],
    quota: &mut Quota,
    escape: impl FnOnce(&str, &mut TextBuffer<'_>),
) -> Result<GoValue<'a>, RenderFault> {
    if let [argument] = arguments
        && let Some(text) = argument.as_text()
    {
        return make(quota, |out| escape(text, out));
    }
    let shown: Vec<GoValue<'a>> = arguments
        .iter()
        .map(|value| if value.is_nil() { GoValue::Text("<no value>") } else { value.clone() })
        .collect();
    let joined = make(quota, |out| Printer::new(out).print(&shown))?;
    make(quota, |out| escape(joined.as_text().unwrap_or_default(), out))
}

fn length(value: &GoValue<'_>) -> Result<i64, RenderFault> {
    let length = match value {
        GoValue::List(elements) => elements.len(),
        GoValue::Map(members) => members.len(),
        other => match other.as_text() {
            Some(text) => text.len(),
            None => return fail(format!("len of type {}", other.kind())),
        },
    };
    i64::try_from(length).map_err(|_overflow| RenderFault::new("len overflows int"))
}

fn index<'a>(
    value: &GoValue<'a>,
    indices: &[GoValue<'a>],
    quota: &mut Quota,
) -> Result<GoValue<'a>, RenderFault> {
    if value.is_nil() {
        return fail("index of untyped nil");
    }
    let mut value = value.clone();
    for (depth, index) in indices.iter().enumerate() {
        if let Some(text) = value.as_text() {
            let at = position(index, text.len())?;
            let byte = text.as_bytes().get(at).copied().unwrap_or_default();
            if depth + 1 < indices.len() {
                return fail("can't index item of type uint8");
            }
            return Ok(GoValue::Int(i64::from(byte)));
        }
        value = match &value {
            GoValue::List(elements) => {
                let at = position(index, elements.len())?;
                elements.get(at).map_or(GoValue::Null, GoValue::from)
            }
            GoValue::Map(members) => match index.as_text() {
                Some(name) => {
                    quota.step(name.len())?;
                    members.get(name).map_or(GoValue::Null, GoValue::from)
                }
                None => return fail(format!("value has type {}; should be string", index.kind())),
            },
            other if other.is_nil() => return fail("index of untyped nil"),
            other => return fail(format!("can't index item of type {}", other.kind())),
        };
    }
    Ok(value)
}

/// Returns the index of an element of a list that has `length` of them.
fn position(index: &GoValue<'_>, length: usize) -> Result<usize, RenderFault> {
    let Some(at) = index.as_integer() else {
        return fail(format!("cannot index slice/array with type {}", index.kind()));
    };
    match usize::try_from(at).ok().filter(|at| *at < length) {
        Some(at) => Ok(at),
        None => fail(format!("index out of range: {at}")),
    }
}

fn slice<'a>(
    value: &GoValue<'a>,
    indices: &[GoValue<'a>],
    quota: &mut Quota,
) -> Result<GoValue<'a>, RenderFault> {
    let length = match (value, value.as_text()) {
        (_, Some(text)) => text.len(),
        (GoValue::List(elements), _) => elements.len(),
        (value, _) if value.is_nil() => return fail("slice of untyped nil"),
        (value, _) => return fail(format!("can't slice item of type {}", value.kind())),
    };
    let most = if value.as_text().is_some() { 2 } else { 3 };
    if indices.len() > most {
        return fail(format!("cannot {}-index slice a {}", indices.len(), value.kind()));
    }
    let mut bounds = [0, length, length];
    for (bound, index) in bounds.iter_mut().zip(indices) {
        *bound = position(index, length.saturating_add(1))?;
    }
    let [start, end, capacity] = bounds;
    if start > end || end > capacity {
        return fail(format!("invalid slice index: {start}:{end}:{capacity}"));
    }
    let inside = || RenderFault::new(format!("slice index {start}:{end} is inside a character"));
    match value {
        GoValue::Text(text) => text.get(start..end).map(GoValue::Text).ok_or_else(inside),
        GoValue::Made(text) => {
            let text = text.get(start..end).ok_or_else(inside)?;
            make(quota, |out| out.push_str(text))
        }
        GoValue::List(elements) => {
            Ok(GoValue::List(elements.get(start..end).unwrap_or_else(|| <&[Datum]>::default())))
        }
        _ => Ok(GoValue::Missing),
    }
}

fn equals_any(
    left: &GoValue<'_>,
    others: &[GoValue<'_>],
    quota: &mut Quota,
) -> Result<bool, RenderFault> {
    if others.is_empty() {
        return fail("missing argument for comparison");
    }
    for right in others {
        if equal(left, right, quota)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compares two values. Unlike in Go, numbers of different types are compared by value.
fn equal(left: &GoValue<'_>, right: &GoValue<'_>, quota: &mut Quota) -> Result<bool, RenderFault> {
    if left.is_nil() || right.is_nil() {
        return Ok(left.is_nil() && right.is_nil());
    }
    if let Some(order) = left.compare_numbers(right) {
        return Ok(order.is_eq());
    }
    if let (Some(left), Some(right)) = (left.as_text(), right.as_text()) {
        quota.step(left.len().min(right.len()))?;
        return Ok(left == right);
    }
    match (left, right) {
        (GoValue::Bool(left), GoValue::Bool(right)) => Ok(left == right),
        (GoValue::List(_) | GoValue::Map(_), GoValue::List(_) | GoValue::Map(_)) => {
            fail(format!("non-comparable type {}", left.kind()))
        }
        _ => incompatible(left, right),
    }
}

fn incompatible<T>(left: &GoValue<'_>, right: &GoValue<'_>) -> Result<T, RenderFault> {
    fail(format!("incompatible types for comparison: {} and {}", left.kind(), right.kind()))
}

/// Orders two numbers by value or two strings by their bytes. Nothing else has an order.
fn order(
    left: &GoValue<'_>,
    right: &GoValue<'_>,
    quota: &mut Quota,
) -> Result<Ordering, RenderFault> {
    if let Some(order) = left.compare_numbers(right) {
        return Ok(order);
    }
    match (left.as_text(), right.as_text()) {
        (Some(left), Some(right)) => {
            quota.step(left.len().min(right.len()))?;
            Ok(left.cmp(right))
        }
        _ => {
            let has_order = |value: &GoValue<'_>| {
                value.as_text().is_some()
                    || matches!(value, GoValue::Int(_) | GoValue::Uint(_) | GoValue::Float(_))
            };
            if has_order(left) && has_order(right) {
                return incompatible(left, right);
            }
            fail("invalid type for comparison")
        }
    }
}
