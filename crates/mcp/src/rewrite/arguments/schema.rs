//! Chooses the form of each value that the input schema of the tool accepts: the value itself, or its text.
//!
//! A schema that cannot be compiled, or that refers to another document, accepts nothing.

use serde_json::Value;

use super::references::Reference;
use super::value::{RESPELLED, StoredArgument};
use crate::jsonrpc::text;
use crate::jsonrpc::unique::has_duplicates;
use crate::schema_check::{SchemaCompiler, SchemaViolation};

/// The most violations that are looked at.
const MOST_ERRORS: usize = 64;

/// Returns the JSON text for each reference. `ours`: names of arguments that the server does not get. An error says why the call is refused.
pub(super) fn fit(
    compiler: SchemaCompiler,
    schema: &[u8],
    arguments: &[u8],
    ours: &[&str],
    references: &[Reference],
    values: Vec<StoredArgument>,
) -> Result<Vec<Vec<u8>>, String> {
    let schema = serde_json::from_slice(schema).ok();
    let check = schema.and_then(|schema: Value| compiler.compile(&schema));
    let check = check.ok_or("the input schema of the tool cannot be used to check the value")?;
    let json = arguments;
    let mut arguments: Value = serde_json::from_slice(json).map_err(|_error| {
        "the arguments are too deep, or have numbers that nobody can check".to_owned()
    })?;
    // The check would see one of two members with the same name, and the server might read the other.
    if has_duplicates(json, &arguments) {
        return Err("an argument occurs twice".to_owned());
    }
    if let Some(arguments) = arguments.as_object_mut() {
        arguments.retain(|name, _| !ours.contains(&name.as_str()));
    }
    let mut chosen = Vec::with_capacity(values.len());
    let mut others = Vec::with_capacity(values.len());
    let mut unchecked: Vec<Option<String>> = Vec::with_capacity(values.len());
    let respelled: Vec<bool> = values.iter().map(StoredArgument::is_respelled).collect();
    for (reference, value) in references.iter().zip(values) {
        let mut forms = value.into_forms().into_iter();
        let first = forms.next().unwrap_or_default();
        let other = forms.next();
        let inserted = insert(&mut arguments, reference, &first);
        if let (Err(_), Some(_)) = (&inserted, &other) {
            // JSON that cannot be checked is a text nevertheless, where the schema wants one.
            insert(&mut arguments, reference, if first.starts_with(b"[") { b"[]" } else { b"{}" })?;
            unchecked.push(inserted.err());
        } else {
            inserted?;
            unchecked.push(None);
        }
        chosen.push(first);
        others.push(other);
    }
    let first = check.violations(&arguments, MOST_ERRORS);
    if first.is_empty() && unchecked.iter().all(Option::is_none) {
        return Ok(chosen);
    }
    let is_within = |reference: &Reference, place: &str| {
        let rest = place.strip_prefix(&reference.pointer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let forms = others.into_iter().zip(unchecked);
    for ((reference, chosen), (other, unchecked)) in references.iter().zip(&mut chosen).zip(forms) {
        let is_violated = || first.iter().any(|it| is_within(reference, &it.place));
        if let Some(other) = other.filter(|_| is_violated()) {
            insert(&mut arguments, reference, &other)?;
            *chosen = other;
        } else if let Some(why) = unchecked {
            return Err(why);
        }
    }
    match check.violations(&arguments, MOST_ERRORS).first() {
        None => Ok(chosen),
        Some(SchemaViolation { place, keyword }) => {
            let mut at = references.iter().zip(respelled);
            let why = match at.find(|(it, respelled)| *respelled && is_within(it, place)) {
                Some(_) => format!("; {RESPELLED}"),
                None => String::new(),
            };
            Err(format!(
                "the input schema of the tool does not accept the arguments with the value: `{}` at {}{why}",
                text::short(keyword, 64),
                if place.is_empty() { "the arguments".to_owned() } else { text::short(place, 200) }
            ))
        }
    }
}

/// Puts a value into the arguments.
fn insert(arguments: &mut Value, reference: &Reference, json: &[u8]) -> Result<(), String> {
    let place = arguments.pointer_mut(&reference.pointer).ok_or("an argument cannot be found")?;
    *place = serde_json::from_slice(json).map_err(|_error| {
        "the value is too deep, or has numbers or escapes that nobody can check".to_owned()
    })?;
    if has_duplicates(json, place) {
        return Err("the value has a member twice".to_owned());
    }
    Ok(())
}
