//! Finds the members that a careful filter omits: noise, whatever the response is about.
//!
//! The names are those that the careful filters of the catalog omit for several services. A value that only looks useless,
//! such as a hash, a UUID, a constant or a long text, may be what was asked for, so it stays.

use super::credentials;
use super::names::{self, MemberKind, Words};
use super::rank::{Candidate, Reason};
use super::root::Payload;
use super::sample::Samples;
use super::shape::{self, Shape};

/// Names of members and containers that are for programs only.
const NOISE: &[&str] = &[
    "@odata.etag",
    "_expandable",
    "avatarUrls",
    "etag",
    "fieldsV1",
    "graphql_node_id",
    "gravatar_id",
    "managedFields",
    "node_id",
];

/// Words of names whose addresses show a picture.
const PICTURES: &[&str] = &["avatar", "avatars", "gravatar", "icon", "icons", "logo", "thumbnail"];

/// Words of names whose addresses lead to what was asked for.
const TARGETS: &[&str] =
    &["archive", "attachment", "content", "download", "file", "media", "raw", "zipball"];

/// The length, in bytes, from which base64 is a file or an image.
const FILE: u64 = 100;

/// The length from which a `node_id` is only for programs.
const LONG: u64 = 10;

/// Returns why a member is noise, or `None` if it may matter.
pub(super) fn noise(samples: &Samples, payload: &Payload, this: &Candidate) -> Option<Reason> {
    let node = samples.node(this.node)?;
    let mut names = this.path.iter().filter_map(|node| samples.node(*node)?.name.as_deref());
    let name = names.clone().next_back()?;
    if this.reason == Some(Reason::Credential) || names::is_page(name) {
        return None;
    }
    let is_short = name.ends_with("node_id") && node.shortest < LONG;
    if !is_short && names.any(|name| NOISE.contains(&name)) {
        return Some(Reason::Technical);
    }
    let words = Words::new(name);
    let has = |some: &[&str]| words.iter().any(|word| some.contains(&word));
    if node.all_are(Shape::Url) && !names::is_page_link(name) && !has(TARGETS) {
        return match node.template.holds() {
            // Only the comment shows the template, so the addresses of pages stay.
            Some(template) if is_for_programs(template) => {
                Some(Reason::Template(template.to_owned()))
            }
            _ => (payload.is_array && has(PICTURES)).then_some(Reason::Address),
        };
    }
    // The only value of this kind may be the file that was asked for.
    let is_file = payload.is_array
        && this.kind != MemberKind::Identifier
        && node.shortest >= FILE
        && node.all_are(Shape::Opaque)
        && node.example.as_deref().is_some_and(shape::is_base64);
    is_file.then_some(Reason::Opaque)
}

/// Whether an address is that of an API, and follows from a member that stays.
fn is_for_programs(template: &str) -> bool {
    let is_api = ["://api.", "/api/", "/rest/"].iter().any(|part| template.contains(part));
    let source = template.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    is_api
        && source
            .is_some_and(|(name, _)| !NOISE.contains(&name) && !credentials::is_credential(name))
}
