//! A reader of factored text that knows what the notice says:
//!
//! > members that all items have are once under `_all`; `_made` has members that follow from others of an item, `{path}`
//! > stands for the text there; `$ref` stands for the value at that place of this text
//!
//! It also knows what the text shows: `_items` are the items of a document that is an array, `_all` and `_made` belong to the array
//! after them, paths begin at the item, `{{` and `}}` are braces, and a `$ref` is a JSON Pointer after `#`, with its escapes.
//!
//! It restores nothing. It looks for one value, as somebody does who reads the text.

use serde_json::Value as Json;
use tamis_testkit::model::dom::{Node, Value};

/// The place at which a value is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Form {
    /// Where it is in the response.
    Own,
    /// Under a reference.
    Ref,
    All,
    Made,
}

/// A value that was found.
#[derive(Debug, PartialEq)]
pub(super) struct Found {
    /// The text of a string, or what else is written.
    pub(super) text: String,
    pub(super) form: Form,
}

/// A place of an item: what is written there, and what `_all` and `_made` have for it.
#[derive(Clone, Copy)]
struct Place<'a> {
    own: Option<&'a Node>,
    all: Option<&'a Node>,
    made: Option<&'a Node>,
    /// The way to the value leads through a reference.
    by_ref: bool,
}

/// An item, whose members templates use.
type Item<'a> = Option<Place<'a>>;

/// The most members that are made from each other. More would be a circle.
const DEEPEST: usize = 32;

/// Returns the scalar at a pointer of the response that a text was made from.
pub(super) fn read(text: &Node, pointer: &str) -> Option<Found> {
    let mut place = Place { own: Some(text), all: None, made: None, by_ref: false };
    let mut item = None;
    // An outermost array is the member `_items`.
    let start = member(text, "_items").map(|_| "_items".to_owned());
    let segments = start.into_iter().chain(pointer.split('/').skip(1).map(unescaped));
    for segment in segments {
        place = step(text, place, &segment, &mut item);
    }
    value(text, place, item, DEEPEST)
}

/// Goes to a member or element.
fn step<'a>(text: &'a Node, mut place: Place<'a>, name: &str, item: &mut Item<'a>) -> Place<'a> {
    resolve(text, &mut place);
    let Some(own) = place.own else {
        place.all = place.all.and_then(|all| child(all, name));
        place.made = place.made.and_then(|made| child(made, name));
        return place;
    };
    if own.is_array() {
        // `_all` and `_made` belong to the items of the array after them.
        place.own = child(own, name);
        if place.all.is_some() || place.made.is_some() {
            *item = Some(place);
        }
        return place;
    }
    let inside = Place {
        own: child(own, name),
        all: place.all.and_then(|all| child(all, name)),
        made: place.made.and_then(|made| child(made, name)),
        by_ref: place.by_ref,
    };
    match before(own, name) {
        (None, None) => inside,
        (all, made) => Place { all, made, ..inside },
    }
}

/// Returns the members `_all` and `_made` that are directly before a member.
fn before<'a>(object: &'a Node, name: &str) -> (Option<&'a Node>, Option<&'a Node>) {
    let Value::Object(members) = &object.value else { return (None, None) };
    let is = |name: &str| members.iter().position(|member| member.name.as_deref() == Some(name));
    let (Some(at), made, all) = (is(name), is("_made"), is("_all")) else { return (None, None) };
    let made = made.filter(|made| made + 1 == at);
    let all = all.filter(|all| all + 1 == made.unwrap_or(at));
    let node = |at: Option<usize>| at.map(|at| &members[at].node);
    (node(all), node(made))
}

/// Follows a reference.
fn resolve<'a>(text: &'a Node, place: &mut Place<'a>) {
    let Some(Value::Scalar(pointer)) =
        place.own.and_then(|own| member(own, "$ref")).map(|node| &node.value)
    else {
        return;
    };
    let pointer = decoded(pointer);
    let mut at = Some(text);
    for segment in pointer.split('/').skip(1).map(unescaped) {
        at = at.and_then(|at| child(at, &segment));
    }
    (place.own, place.by_ref) = (at, true);
}

fn value<'a>(text: &'a Node, place: Place<'a>, item: Item<'a>, deepest: usize) -> Option<Found> {
    let form = if place.by_ref { Form::Ref } else { Form::Own };
    let (node, form) = match place {
        Place { own: Some(own), .. } => (own, form),
        Place { all: Some(all), .. } => (all, Form::All),
        Place { made, .. } => (made?, Form::Made),
    };
    let Value::Scalar(spelled) = &node.value else { return None };
    let found = if spelled.starts_with('"') { decoded(spelled) } else { spelled.clone() };
    let found = if form == Form::Made { fill(text, &found, item, deepest)? } else { found };
    Some(Found { text: found, form })
}

/// Puts texts of an item in the places of a template.
fn fill<'a>(text: &'a Node, template: &str, item: Item<'a>, deepest: usize) -> Option<String> {
    let deepest = deepest.checked_sub(1)?;
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let (literal, after) = rest.split_at(at);
        out.push_str(literal);
        let brace = &after[..1];
        if let Some(after) = after[1..].strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        let (path, after) = after[1..].split_once('}')?;
        let mut place = item?;
        let mut inner = item;
        for name in path.split('.') {
            place = step(text, place, name, &mut inner);
        }
        out.push_str(&value(text, place, item, deepest)?.text);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

fn member<'a>(object: &'a Node, name: &str) -> Option<&'a Node> {
    let Value::Object(members) = &object.value else { return None };
    let found = members.iter().find(|member| member.name.as_deref() == Some(name));
    found.map(|member| &member.node)
}

fn child<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    match &node.value {
        Value::Array(elements) => elements.get(name.parse::<usize>().ok()?),
        _ => member(node, name),
    }
}

/// Returns the name in a segment of a pointer.
pub(super) fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// Returns the text of a string as spelled. One with a lone surrogate is compared as it is spelled.
pub(super) fn decoded(spelled: &str) -> String {
    match serde_json::from_str(spelled) {
        Ok(Json::String(text)) => text,
        _ => spelled.to_owned(),
    }
}
