//! Finds the payload: the array whose elements are the items, or the document as a single object.

use super::names::{Words, is_page};
use super::sample::Samples;

/// Names of members that hold the items.
const ITEM_NAMES: &[&str] = &[
    "items",
    "results",
    "result",
    "data",
    "value",
    "values",
    "records",
    "nodes",
    "edges",
    "hits",
    "matches",
    "rows",
    "list",
    "messages",
    "objects",
    "elements",
    "docs",
    "documents",
    "events",
    "users",
    "issues",
];
/// Names of members that only single objects have at the top.
const OWN_IDENTIFIERS: &[&str] = &["id", "key", "eventid", "uid", "number", "node_id"];

/// The deepest array that can be the payload.
const MAX_DEPTH: usize = 3;

/// Where the items are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Payload {
    /// The node of one item.
    pub(super) item: usize,
    /// The nodes of the members that lead to the array.
    pub(super) path: Vec<usize>,
    /// The payload is an array, not a single object.
    pub(super) is_array: bool,
}

/// Finds the payload.
pub(super) fn find(samples: &Samples) -> Payload {
    let whole = Payload { item: 0, path: Vec::new(), is_array: false };
    let Some(root) = samples.node(0) else { return whole };
    if let (Some(item), true) = (root.elements(), root.arrays > root.objects) {
        return Payload { item, path: Vec::new(), is_array: true };
    }
    let has_own_identifier = root.children.iter().any(|child| {
        let Some(child) = samples.node(*child) else { return false };
        let name = child.name.as_deref().unwrap_or_default();
        child.children.is_empty()
            && OWN_IDENTIFIERS.iter().any(|own| name.eq_ignore_ascii_case(own))
    });
    let mut best: Option<(f64, Payload)> = None;
    let mut open = vec![(0, Vec::new())];
    while let Some((index, path)) = open.pop() {
        let Some(node) = samples.node(index) else { continue };
        // The last children first, so that they are visited in document order.
        for child in node.children.iter().rev() {
            let Some(member) = samples.node(*child) else { continue };
            let mut path = path.clone();
            path.push(*child);
            if let Some(score) = score(samples, *child, path.len(), has_own_identifier)
                && best.as_ref().is_none_or(|(best, _)| score >= *best)
                && let Some(item) = member.elements()
            {
                best = Some((score, Payload { item, path: path.clone(), is_array: true }));
            }
            if member.is_object() && path.len() < MAX_DEPTH {
                open.push((*child, path));
            }
        }
    }
    best.map_or(whole, |(_, payload)| payload)
}

/// Returns how much an array looks like the payload, or `None` if it cannot be it.
fn score(samples: &Samples, array: usize, depth: usize, has_own_identifier: bool) -> Option<f64> {
    let (root, node) = (samples.node(0)?, samples.node(array)?);
    let item = samples.node(node.elements()?)?;
    let name = node.name.as_deref()?;
    let is_named = ITEM_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known));
    let share = node.bytes as f64 / root.bytes.max(1) as f64;
    let is_several = item.objects > samples.documents.max(1);
    // A list of one, with what lists have around them.
    let is_list = depth == 1
        && name.ends_with('s')
        && root.children.iter().filter_map(|child| samples.node(*child)).all(|child| {
            let name = child.name.as_deref().unwrap_or_default();
            std::ptr::eq(child, node) || is_page(name) || is_envelope(name)
        });
    if item.objects == 0
        || node.arrays < node.objects
        || share < 0.5
        || !(is_several || is_named || is_list)
        || (has_own_identifier && !(is_named && depth == 1))
    {
        return None;
    }
    Some(share + if is_named { 0.15 } else { 0.0 } - 0.02 * depth as f64)
}

/// Whether members of this name stand around a list.
fn is_envelope(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "links",
        "_links",
        "meta",
        "metadata",
        "object",
        "ok",
        "paging",
        "pagination",
        "status",
        "success",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether an identifier is that of the items: `incident_number` in `incidents`.
pub(super) fn is_own_identifier(container: &str, name: &Words) -> bool {
    let container = Words::new(container);
    let singular = |word: &str| word.trim_end_matches('s').to_owned();
    !name.is_one()
        && ["id", "number", "key", "name", "uid", "arn"].contains(&name.last())
        && !container.last().is_empty()
        && singular(container.last()) == singular(name.second_last())
}
