//! The functions that templates call, as Go's `text/template` has them.
//!
//! Those that the engine gets right are the engine's, with their arguments and results counted; comparison, `index` and
//! the three escapers' view of null are ours. Each states where it departs from Go, if it does.

use std::cmp::Ordering;

use gtmpl_ng::{Func, FuncError, Number, NumberKind, Template, Value, funcs};

use super::meter::{charge, has_room, keep_value};
use super::rewrite::{CONDITION, FLOAT, METER};

/// Gives an engine these functions and no others, but for `and` and `or`, which it evaluates lazily by their address.
pub(super) fn register(template: &mut Template) {
    template.funcs.retain(|name, _| matches!(name.as_str(), "and" | "or"));
    template.add_funcs::<&str>(&[
        (METER, pass),
        (CONDITION, condition),
        (FLOAT, float),
        ("eq", |arguments| call(eq, arguments)),
        ("ne", |arguments| call(ne, arguments)),
        ("lt", |arguments| call(lt, arguments)),
        ("le", |arguments| call(le, arguments)),
        ("gt", |arguments| call(gt, arguments)),
        ("ge", |arguments| call(ge, arguments)),
        ("index", |arguments| call(index, arguments)),
        ("not", |arguments| call(not, arguments)),
        ("len", |arguments| call(funcs::len, arguments)),
        ("slice", |arguments| call(funcs::slice, arguments)),
        ("print", |arguments| call(funcs::print, arguments)),
        ("println", |arguments| call(funcs::println, arguments)),
        ("printf", |arguments| call(printf, arguments)),
        ("html", |arguments| call(|arguments| escape(funcs::html, arguments), arguments)),
        ("js", |arguments| call(|arguments| escape(funcs::js, arguments), arguments)),
        ("urlquery", |arguments| call(|arguments| escape(funcs::urlquery, arguments), arguments)),
    ]);
}

fn fail<T>(message: impl Into<String>) -> Result<T, FuncError> {
    Err(FuncError::Generic(message.into()))
}

/// Calls a function, with what goes in and what comes out counted.
fn call(function: Func, arguments: &[Value]) -> Result<Value, FuncError> {
    if !charge(arguments) {
        return fail("too much work");
    }
    let value = function(arguments)?;
    if !keep_value(&value) {
        return fail("too much is kept");
    }
    Ok(value)
}

fn pass(arguments: &[Value]) -> Result<Value, FuncError> {
    // It has one.
    match arguments.last() {
        Some(value) if keep_value(value) => Ok(value.clone()),
        Some(_) => fail("too much is kept"),
        None => Ok(Value::NoValue),
    }
}

/// The engine takes a float that is zero for true.
fn condition(arguments: &[Value]) -> Result<Value, FuncError> {
    match arguments.last() {
        Some(value) if is_zero(value) => Ok(Value::Bool(false)),
        _ => pass(arguments),
    }
}

fn is_zero(value: &Value) -> bool {
    matches!(value, Value::Number(number) if number.as_f64() == Some(0.0))
}

fn float(arguments: &[Value]) -> Result<Value, FuncError> {
    match arguments {
        [Value::String(text)] => match text.parse() {
            Ok(value) => Ok(Value::Number(Number::float(value))),
            Err(_) => fail("no number"),
        },
        _ => fail("no number"),
    }
}

/// What Go calls an invalid or nil value.
fn is_nil(value: &Value) -> bool {
    matches!(value, Value::NoValue | Value::Nil)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::NoValue | Value::Nil => "nil",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Object(_) | Value::Map(_) => "map",
        Value::Array(_) => "list",
        Value::Function(_) => "function",
        Value::Number(number) => match number.kind() {
            NumberKind::Signed(_) | NumberKind::Unsigned(_) => "int",
            NumberKind::Float(_) => "float64",
        },
    }
}

fn incompatible<T>(left: &Value, right: &Value) -> Result<T, FuncError> {
    fail(format!("incompatible types for comparison: {} and {}", type_name(left), type_name(right)))
}

/// Whether the first argument equals one of the others. Unlike in Go numbers compare by value, whatever their types.
fn eq(arguments: &[Value]) -> Result<Value, FuncError> {
    let Some((left, others)) = arguments.split_first() else {
        return fail("wrong number of args for eq: want at least 1 got 0");
    };
    if others.is_empty() {
        return fail("missing argument for comparison");
    }
    for right in others {
        if equal(left, right)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn equal(left: &Value, right: &Value) -> Result<bool, FuncError> {
    match (left, right) {
        _ if is_nil(left) || is_nil(right) => Ok(is_nil(left) && is_nil(right)),
        (Value::Number(left), Value::Number(right)) => Ok(left == right),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::String(left), Value::String(right)) => Ok(left == right),
        (Value::Array(_) | Value::Map(_), Value::Array(_) | Value::Map(_)) => {
            fail(format!("non-comparable type {}", type_name(left)))
        }
        _ => incompatible(left, right),
    }
}

fn ne(arguments: &[Value]) -> Result<Value, FuncError> {
    let (left, right) = two("ne", arguments)?;
    Ok(Value::Bool(!equal(left, right)?))
}

fn two<'v>(name: &str, arguments: &'v [Value]) -> Result<(&'v Value, &'v Value), FuncError> {
    match arguments {
        [left, right] => Ok((left, right)),
        _ => fail(format!("wrong number of args for {name}: want 2 got {}", arguments.len())),
    }
}

/// The order of two numbers, by value, or of two strings, by bytes. Nothing else has one.
fn order(name: &str, arguments: &[Value]) -> Result<Ordering, FuncError> {
    let (left, right) = two(name, arguments)?;
    let order = match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.partial_cmp(right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(_) | Value::String(_), Value::Number(_) | Value::String(_)) => {
            return incompatible(left, right);
        }
        _ => None,
    };
    match order {
        Some(order) => Ok(order),
        None => fail("invalid type for comparison"),
    }
}

fn lt(arguments: &[Value]) -> Result<Value, FuncError> {
    Ok(Value::Bool(order("lt", arguments)?.is_lt()))
}

fn le(arguments: &[Value]) -> Result<Value, FuncError> {
    Ok(Value::Bool(order("le", arguments)?.is_le()))
}

fn gt(arguments: &[Value]) -> Result<Value, FuncError> {
    Ok(Value::Bool(order("gt", arguments)?.is_gt()))
}

fn ge(arguments: &[Value]) -> Result<Value, FuncError> {
    Ok(Value::Bool(order("ge", arguments)?.is_ge()))
}

fn not(arguments: &[Value]) -> Result<Value, FuncError> {
    match arguments {
        [value] if is_zero(value) => Ok(Value::Bool(true)),
        arguments => funcs::not(arguments),
    }
}

fn index(arguments: &[Value]) -> Result<Value, FuncError> {
    let Some((mut value, indices)) = arguments.split_first() else {
        return fail("wrong number of args for index: want at least 1 got 0");
    };
    const NIL: Value = Value::Nil;
    for index in indices {
        value = match (value, index) {
            (Value::Array(elements), index) => {
                let at = position(index, elements.len())?;
                elements.get(at).unwrap_or(&NIL)
            }
            (Value::String(text), index) => {
                let at = position(index, text.len())?;
                let byte = text.as_bytes().get(at).copied().unwrap_or_default();
                // Nothing can be looked up in a number: it is the last one.
                return match indices.last() {
                    Some(last) if std::ptr::eq(last, index) => Ok(Value::from(u64::from(byte))),
                    _ => fail("can't index item of type uint8"),
                };
            }
            (Value::Map(members), Value::String(key)) => members.get(key).unwrap_or(&NIL),
            (Value::Map(_), other) => {
                return fail(format!("value has type {}; should be string", type_name(other)));
            }
            (value, _) if is_nil(value) => return fail("index of untyped nil"),
            (value, _) => return fail(format!("can't index item of type {}", type_name(value))),
        };
    }
    Ok(value.clone())
}

fn position(index: &Value, length: usize) -> Result<usize, FuncError> {
    let at = match index {
        Value::Number(number) => match number.kind() {
            NumberKind::Signed(at) => usize::try_from(at).ok(),
            NumberKind::Unsigned(at) => usize::try_from(at).ok(),
            NumberKind::Float(_) => return fail("cannot index slice/array with type float64"),
        },
        other => {
            return fail(format!("cannot index slice/array with type {}", type_name(other)));
        }
    };
    match at.filter(|at| *at < length) {
        Some(at) => Ok(at),
        None => fail(format!("index out of range: {index}")),
    }
}

/// The engine makes the whole text before anyone may say that it is too long.
fn printf(arguments: &[Value]) -> Result<Value, FuncError> {
    if let Some((Value::String(format), values)) = arguments.split_first() {
        let length = |value: &Value| if let Value::String(text) = value { text.len() } else { 0 };
        let longest = values.iter().map(length).max().unwrap_or(0) as u64;
        let verbs = format.bytes().filter(|byte| *byte == b'%').count() as u64;
        // `%q` and `%x` spell a byte with several.
        let spelled = if format.contains(['q', 'x', 'X', 'U']) { 6 } else { 1 };
        if longest > SHORT && !has_room(verbs.saturating_mul(longest).saturating_mul(spelled)) {
            return fail("too much is kept");
        }
    }
    funcs::printf(arguments)
}

/// Texts of so many bytes need no look ahead.
const SHORT: u64 = 4 << 10;

/// To an escaper null and missing are one.
fn escape(function: Func, arguments: &[Value]) -> Result<Value, FuncError> {
    let spelled = |byte: u8| if byte.is_ascii_alphanumeric() || byte == b' ' { 1 } else { 6 };
    let length = |value: &Value| match value {
        Value::String(text) => text.bytes().map(spelled).sum::<u64>(),
        _ => 0,
    };
    let bytes: u64 = arguments.iter().map(length).sum();
    if bytes > SHORT && !has_room(bytes) {
        return fail("too much is kept");
    }
    let arguments: Vec<Value> = arguments
        .iter()
        .map(|value| if is_nil(value) { Value::Nil } else { value.clone() })
        .collect();
    function(&arguments)
}
