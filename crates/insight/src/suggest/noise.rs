//! Finds the members that a careful filter omits: noise, whatever the response is about.
//!
//! The names are those that the careful filters of the catalog omit for several services. A value that only looks useless,
//! such as a hash, a UUID, a constant or a long text, may be what was asked for, so it stays.

use super::names::{self, MemberKind, Words};
use super::rank::{Candidate, Reason};
use super::root::Payload;
use super::sample::Samples;
use super::shape::{self, Shape};

/// Names of members and containers that are for programs only, in lower case and without signs.
const NOISE: &[&str] = &[
    "avatarurls",
    "etag",
    "expandable",
    "fieldsv1",
    "graphqlnodeid",
    "gravatarid",
    "managedfields",
    "nodeid",
    "odataetag",
    "selflink",
];

/// Words of names whose addresses show a picture.
const PICTURES: &[&str] = &["avatar", "avatars", "gravatar", "icon", "icons", "logo", "thumbnail"];

/// The average length, in bytes, from which base64 is a file or an image.
const FILE: u64 = 100;

/// Returns why a member is noise, or `None` if it may matter.
pub(super) fn noise(samples: &Samples, payload: &Payload, this: &Candidate) -> Option<Reason> {
    let node = samples.node(this.node)?;
    let mut names = this.path.iter().filter_map(|node| samples.node(*node)?.name.as_deref());
    let name = names.clone().next_back()?;
    if this.reason == Some(Reason::Credential) || names::is_page(name) {
        return None;
    }
    if names.any(is_noise) {
        return Some(Reason::Technical);
    }
    match node.shape() {
        Some(Shape::Url) if !names::is_page_link(name) => match node.template.holds() {
            Some(template) => Some(Reason::Template(template.to_owned())),
            None => {
                let is_picture = Words::new(name).iter().any(|word| PICTURES.contains(&word));
                is_picture.then_some(Reason::Address)
            }
        },
        // The only value of this kind may be the file that was asked for.
        Some(Shape::Opaque) if payload.is_array && node.bytes > FILE * node.scalars => {
            let is_base64 = node.example.as_deref().is_some_and(shape::is_base64);
            (is_base64 && this.kind != MemberKind::Identifier).then_some(Reason::Opaque)
        }
        _ => None,
    }
}

fn is_noise(name: &str) -> bool {
    let letters = name.chars().filter(|char| char.is_alphanumeric());
    let name: String = letters.take(40).map(|char| char.to_ascii_lowercase()).collect();
    NOISE.contains(&name.as_str())
}
