//! Adds members and elements to a JSON text and removes them again, without touching another byte.

use std::ops::Range;

use super::json::{JsonFault, JsonNode, parse};
use super::record::{FileRecord, pointer};
use super::shape::{Layout, Shape, indent_at, newline_of, quoted};

/// Replaces ranges of a text. The ranges must not overlap.
pub(crate) fn splice(text: &str, mut splices: Vec<(Range<usize>, String)>) -> String {
    splices.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in splices {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Where an entry is: the names of members from the document on.
pub(crate) type Names<'a> = &'a [&'a str];

/// Why an entry cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EditFault {
    Json(JsonFault),
    /// The value at this path is not the object or array that was expected.
    Type {
        path: String,
        expected: &'static str,
    },
}

impl From<JsonFault> for EditFault {
    fn from(fault: JsonFault) -> Self {
        Self::Json(fault)
    }
}

/// Sets a member, in objects that are created if they are missing. Replaces the value of a member that exists.
pub(crate) fn set_member(
    text: &str,
    names: Names<'_>,
    value: &Shape,
    record: &mut FileRecord,
) -> Result<String, EditFault> {
    add(text, names, Addition::Member, value, record)
}

/// Appends an element to an array, which is created if it is missing.
pub(crate) fn push_element(
    text: &str,
    names: Names<'_>,
    value: &Shape,
    record: &mut FileRecord,
) -> Result<String, EditFault> {
    add(text, names, Addition::Element, value, record)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Addition {
    Member,
    Element,
}

fn add(
    text: &str,
    names: Names<'_>,
    kind: Addition,
    value: &Shape,
    record: &mut FileRecord,
) -> Result<String, EditFault> {
    let bare = text.trim_start_matches('\u{feff}');
    if bare.trim().is_empty() {
        record.blank = Some(bare.to_owned());
        record.added.insert(String::new());
        let mark = text.get(..text.len() - bare.len()).unwrap_or_default();
        let layout = Layout::lines(newline_of(text), "  ");
        let document = nest(names, kind, value, "", record);
        return Ok(format!("{mark}{}{}", document.render(&layout, ""), layout.newline));
    }
    let root = parse(text)?;
    let layout = Layout::of(text, &root)?;
    let (mut node, mut path) = (root, String::new());
    for (at, name) in names.iter().enumerate() {
        if !node.is_object() {
            return Err(EditFault::Type { path, expected: "an object" });
        }
        let rest = names.get(at + 1..).unwrap_or_default();
        let Some(found) = node.get(name)? else {
            let inner = pointer(&path, name);
            let value = if rest.is_empty() && kind == Addition::Member {
                value.clone()
            } else {
                record.added.insert(inner.clone());
                nest(rest, kind, value, &inner, record)
            };
            return Ok(insert(text, &node, &layout, &path, Some(name), &value, record)?);
        };
        path = pointer(&path, name);
        if rest.is_empty() && kind == Addition::Member {
            let indent = indent_at(text, found.start);
            let new = value.render(&layout, indent);
            return Ok(splice(text, vec![(found.start..found.end, new)]));
        }
        node = found;
    }
    if !node.is_array() {
        return Err(EditFault::Type { path, expected: "an array" });
    }
    Ok(insert(text, &node, &layout, &path, None, value, record)?)
}

/// Returns the value inside the objects that are missing, and records them.
fn nest(
    names: Names<'_>,
    kind: Addition,
    value: &Shape,
    path: &str,
    record: &mut FileRecord,
) -> Shape {
    let Some((first, rest)) = names.split_first() else {
        return match kind {
            Addition::Member => value.clone(),
            Addition::Element => Shape::Array(vec![value.clone()]),
        };
    };
    let inner = pointer(path, first);
    if !rest.is_empty() || kind == Addition::Element {
        record.added.insert(inner.clone());
    }
    Shape::object([(*first, nest(rest, kind, value, &inner, record))])
}

/// Inserts a member or an element after the last one.
fn insert(
    text: &str,
    container: &JsonNode<'_>,
    layout: &Layout,
    path: &str,
    name: Option<&str>,
    value: &Shape,
    record: &mut FileRecord,
) -> Result<String, JsonFault> {
    let items = items(container)?;
    let entry = |layout: &Layout, indent: &str| {
        let blank = if layout.has_lines || layout.has_blanks { " " } else { "" };
        let name = name.map(|name| format!("{}:{blank}", quoted(name))).unwrap_or_default();
        format!("{name}{}", value.render(layout, indent))
    };
    let Some(last) = items.last() else {
        let inner = text.get(container.start + 1..container.end - 1).unwrap_or_default();
        let base = indent_at(text, container.start);
        let (before, after, indent) = if layout.has_lines {
            let indent = format!("{base}{}", layout.unit);
            let after = if inner.contains('\n') {
                String::new()
            } else {
                format!("{}{base}", layout.newline)
            };
            (format!("{}{indent}", layout.newline), after, indent)
        } else {
            (String::new(), String::new(), String::new())
        };
        let new = format!("{before}{}{after}", entry(layout, &indent));
        record.around.insert(path.to_owned(), (before, after));
        let at = container.start + 1;
        return Ok(splice(text, vec![(at..at, new)]));
    };
    let begin = match items.len().checked_sub(2).and_then(|at| items.get(at)) {
        Some(previous) => previous.end,
        None => container.start + 1,
    };
    let lead = text.get(begin..last.start).unwrap_or_default();
    let blanks = lead.rsplit_once(',').map_or(lead, |(_, blanks)| blanks);
    let new = match blanks.rsplit_once('\n') {
        Some((_, indent)) => {
            let layout = if layout.has_lines {
                layout.clone()
            } else {
                Layout::lines(layout.newline, indent)
            };
            format!(",{}{indent}{}", layout.newline, entry(&layout, indent))
        }
        None => {
            let single = items.len() == 1;
            let blanks =
                if single && (layout.has_lines || layout.has_blanks) { " " } else { blanks };
            format!(",{blanks}{}", entry(&layout.on_one_line(), ""))
        }
    };
    Ok(splice(text, vec![(last.end..last.end, new)]))
}

/// Removes a member or an element, and the containers around it that held nothing else and were added with it.
///
/// Without a record, all containers that would be empty are removed, except the document. A group of hooks is removed with
/// the last hook of its list. Returns `None` if the document itself was added and nothing else is in it.
pub(crate) fn remove(
    text: &str,
    path: &[Step<'_>],
    record: Option<&FileRecord>,
) -> Result<Option<String>, JsonFault> {
    let mut nodes = vec![parse(text)?];
    let mut pointers = vec![String::new()];
    for step in path {
        let (Some(node), Some(parent)) = (nodes.last(), pointers.last()) else { break };
        let (next, name) = match step {
            Step::Name(name) => (node.get(name)?, (*name).to_owned()),
            Step::Element(at) => (node.elements()?.into_iter().nth(*at), at.to_string()),
        };
        let Some(next) = next else { return Ok(Some(text.to_owned())) };
        pointers.push(pointer(parent, &name));
        nodes.push(next);
    }
    let step_into = |node: usize| node.checked_sub(1).and_then(|at| path.get(at));
    let mut depth = path.len();
    while let Some(parent) = depth.checked_sub(1) {
        let (Some(node), Some(pointer)) = (nodes.get(parent), pointers.get(parent)) else { break };
        if items(node)?.len() != 1 {
            break;
        }
        let is_list = matches!(step_into(parent), Some(Step::Name(_)));
        if is_list && matches!(step_into(depth - 2), Some(Step::Element(_))) {
            depth -= 2;
        } else if record.map_or(parent > 0, |record| record.added.contains(pointer)) {
            depth = parent;
        } else {
            break;
        }
    }
    if depth == 0 {
        return Ok(None);
    }
    let (Some(container), Some(victim)) = (nodes.get(depth - 1), nodes.get(depth)) else {
        return Ok(Some(text.to_owned()));
    };
    let around =
        record.zip(pointers.get(depth - 1)).and_then(|(record, path)| record.around.get(path));
    let range = range_of(text, container, victim, around)?;
    Ok(Some(splice(text, vec![(range, String::new())])))
}

/// A step from a value to one inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Name(&'a str),
    Element(usize),
}

/// Returns the bytes that an entry and its comma take.
fn range_of(
    text: &str,
    container: &JsonNode<'_>,
    victim: &JsonNode<'_>,
    around: Option<&(String, String)>,
) -> Result<Range<usize>, JsonFault> {
    let items = items(container)?;
    let Some(at) = items.iter().position(|item| item.end == victim.end) else {
        return Ok(victim.start..victim.end);
    };
    let start = items.get(at).map_or(victim.start, |item| item.start);
    if let Some(previous) = at.checked_sub(1).and_then(|at| items.get(at)) {
        return Ok(previous.end..victim.end);
    }
    if let Some(next) = items.get(at + 1) {
        return Ok(start..next.start);
    }
    let before = text.get(container.start + 1..start).unwrap_or_default();
    let after = text.get(victim.end..container.end - 1).unwrap_or_default();
    match around {
        Some((prefix, suffix))
            if before.ends_with(prefix.as_str()) && after.starts_with(suffix.as_str()) =>
        {
            Ok(start - prefix.len()..victim.end + suffix.len())
        }
        _ => Ok(container.start + 1..container.end - 1),
    }
}

/// The first byte of each member or element, and the byte after it.
fn items(container: &JsonNode<'_>) -> Result<Vec<Range<usize>>, JsonFault> {
    let members = container.members()?.into_iter().map(|member| member.start..member.value.end);
    let elements = container.elements()?.into_iter().map(|element| element.start..element.end);
    Ok(members.chain(elements).collect())
}
