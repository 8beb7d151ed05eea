//! The blocks of a result: which of them hold text.

use super::failure::Failure;
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::{Parts, ResultPart, short_text};
use crate::transport::spool::Spool;

/// The kinds of blocks that the protocol defines.
const KNOWN: [&str; 5] = ["text", "image", "audio", "resource_link", "resource"];

/// One block of `content`.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) element: &'a Found,
    /// Its text, or the text of the resource in it.
    pub(super) text: Option<&'a Found>,
    /// The resources that it names.
    pub(super) uris: Vec<&'a Found>,
}

/// Reads the blocks of a result. `is_strict`: a form that the protocol does not define may hide anything, and is an
/// error.
pub(super) fn read<'a>(
    message: &Spool,
    parts: &'a Parts<ResultPart>,
    is_strict: bool,
) -> Result<Vec<Block<'a>>, Failure> {
    let has_form = |part, kind| parts.all(part).iter().all(|found: &Found| found.kind == kind);
    if is_strict {
        let single = [
            ResultPart::Content,
            ResultPart::Structured,
            ResultPart::IsError,
            ResultPart::ResultType,
        ];
        if parts.repeats(&single) {
            return Err(Failure::AMBIGUOUS);
        }
        let is_known = has_form(ResultPart::Content, ValueKind::Array)
            && has_form(ResultPart::Block, ValueKind::Object)
            && has_form(ResultPart::Kind, ValueKind::String)
            && has_form(ResultPart::Text, ValueKind::String)
            && has_form(ResultPart::Resource, ValueKind::Object)
            && has_form(ResultPart::ResourceText, ValueKind::String)
            && has_form(ResultPart::IsError, ValueKind::Bool)
            && parts.all(ResultPart::Structured).iter().all(|it| it.kind != ValueKind::String)
            // Members of other results do not belong here, and would not be filtered.
            && !parts.has(ResultPart::Inner)
            && !parts.has(ResultPart::Contents);
        if !is_known {
            return Err(Failure::UNKNOWN_FORM);
        }
    }
    let mut lists = [
        ResultPart::Kind,
        ResultPart::Text,
        ResultPart::Resource,
        ResultPart::ResourceText,
        ResultPart::ResourceUri,
        ResultPart::LinkUri,
    ]
    .map(|part| parts.all(part).iter().peekable());
    let mut blocks = Vec::new();
    for element in parts.all(ResultPart::Block) {
        let index = element.indices.first().copied();
        let [kinds, texts, resources, resource_texts, resource_uris, link_uris] = &mut lists;
        let next = |list: &mut std::iter::Peekable<std::slice::Iter<'a, Found>>| {
            let mut all: Vec<&'a Found> = Vec::new();
            while let Some(found) = list.next_if(|found| found.indices.first().copied() <= index) {
                all.push(found);
            }
            all
        };
        let (kinds, resources) = (next(kinds), next(resources));
        let (texts, resource_texts) = (next(texts), next(resource_texts));
        let uris: Vec<&Found> = next(resource_uris).into_iter().chain(next(link_uris)).collect();
        if is_strict {
            if kinds.len() > 1
                || texts.len() + resource_texts.len() > 1
                || resources.len() > 1
                || uris.len() > 1
            {
                return Err(Failure::AMBIGUOUS);
            }
            let kind = kinds.first().and_then(|kind| short_text(message, kind));
            if !kind.is_some_and(|kind| KNOWN.contains(&kind.as_str())) {
                return Err(Failure::UNKNOWN_FORM);
            }
        }
        let is_text = |found: &&&Found| found.kind == ValueKind::String;
        let text = texts.iter().chain(&resource_texts).rfind(is_text).copied();
        blocks.push(Block { element, text, uris });
    }
    Ok(blocks)
}
