//! The blocks of a result: which of them hold text.

use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::{Parts, ResultPart, short_text};
use crate::policy::failure::Failure;
use crate::spool::Spool;

/// The kinds of blocks that the protocol defines.
const KNOWN: [&str; 5] = ["text", "image", "audio", "resource_link", "resource"];

/// One block of `content`.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) element: &'a Found,
    /// Its text, or the text of the resource in it.
    pub(crate) text: Option<&'a Found>,
    /// The resources that it names.
    pub(crate) uris: Vec<&'a Found>,
    /// Whether it has text in Base64, which rules cannot read. Only looked at if the reading is strict.
    pub(crate) hides_text: bool,
}

/// Media types that are text, in addition to `text/*` and those that end with `+json`, `+xml` or `+yaml`.
const TEXT_TYPES: [&str; 16] = [
    "application/csv",
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/jsonl",
    "application/ndjson",
    "application/sql",
    "application/toml",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-www-form-urlencoded",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

/// Returns whether a media type is that of JSON or of another text.
fn is_text_type(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.starts_with("text/")
        || TEXT_TYPES.contains(&essence.as_str())
        || ["+json", "+xml", "+yaml"].iter().any(|suffix| essence.ends_with(suffix))
}

/// Checks that a result has a form that the protocol defines.
fn check_form(parts: &Parts<ResultPart>) -> Result<(), Failure> {
    let has_form = |part, kind| parts.all(part).iter().all(|found: &Found| found.kind == kind);
    let single =
        [ResultPart::Content, ResultPart::Structured, ResultPart::IsError, ResultPart::ResultType];
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
    Ok(())
}

/// Reads the blocks of a result. `is_strict`: a form that the protocol does not define may hide anything, and is an
/// error.
pub(crate) fn read<'a>(
    message: &Spool,
    parts: &'a Parts<ResultPart>,
    is_strict: bool,
) -> Result<Vec<Block<'a>>, Failure> {
    if is_strict {
        check_form(parts)?;
    }
    let mut lists = [
        ResultPart::Kind,
        ResultPart::Text,
        ResultPart::Resource,
        ResultPart::ResourceText,
        ResultPart::ResourceUri,
        ResultPart::LinkUri,
        ResultPart::Data,
        ResultPart::DataType,
        ResultPart::Blob,
        ResultPart::BlobType,
    ]
    .map(|part| parts.all(part).iter().peekable());
    let mut blocks = Vec::new();
    for element in parts.all(ResultPart::Block) {
        let index = element.indices.first().copied();
        let [
            kinds,
            texts,
            resources,
            resource_texts,
            resource_uris,
            link_uris,
            data,
            data_types,
            blobs,
            blob_types,
        ] = &mut lists;
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
        let mut hides_text = false;
        for (binary, types) in [(next(data), next(data_types)), (next(blobs), next(blob_types))] {
            let media_type = types.first().map(|found| short_text(message, found));
            // A media type that cannot be read may be any.
            let is_text = media_type.is_some_and(|it| it.is_none_or(|it| is_text_type(&it)));
            hides_text |= is_strict && !binary.is_empty() && is_text;
            if is_strict && (binary.len() > 1 || types.len() > 1) {
                return Err(Failure::AMBIGUOUS);
            }
        }
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
        blocks.push(Block { element, text, uris, hides_text });
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::is_text_type;

    #[test]
    fn media_types_of_text_are_known() {
        for (media_type, is_text) in [
            ("application/json", true),
            (" Application/JSON ; charset=utf-8", true),
            ("application/vnd.api+json", true),
            ("text/plain", true),
            ("text/x-anything", true),
            ("image/svg+xml", true),
            ("image/png", false),
            ("application/octet-stream", false),
            ("application/pdf", false),
            ("audio/wav", false),
            ("", false),
        ] {
            assert_eq!(is_text_type(media_type), is_text, "{media_type}");
        }
    }
}
