//! Peers that copy raw values without decoding them: sonic-rs' lazy values, jiter, and struson from reader to writer.

use jiter::Jiter;
use sonic_rs::PointerTree;
use struson::reader::{JsonReader, JsonStreamReader};
use struson::writer::{JsonStreamWriter, JsonWriter};

use crate::data::specs::{BenchSelection, SelectedField};
use crate::harness::Job;

pub(super) fn select(selection: BenchSelection) -> Vec<Job> {
    vec![sonic(selection), jiter(selection), struson(selection)]
}

/// Writes the containers around the items, and calls a function for their content.
pub(super) fn wrapped(root: &[&str], output: &mut Vec<u8>, items: impl FnOnce(&mut Vec<u8>)) {
    for name in root {
        output.extend_from_slice(format!("{{\"{name}\":").as_bytes());
    }
    output.push(b'[');
    items(output);
    output.push(b']');
    output.extend(root.iter().map(|_| b'}'));
}

/// Iterates over the items and calls `get_many` for each.
fn sonic(selection: BenchSelection) -> Job {
    let mut tree = PointerTree::new();
    for field in selection.fields {
        tree.add_path(field.path);
    }
    Job::new("sonic-rs get_many in each item", move |document, output| {
        let items = sonic_rs::get(&**document, selection.root).unwrap();
        wrapped(selection.root, output, |output| {
            for (index, item) in items.into_array_iter().unwrap().enumerate() {
                if index > 0 {
                    output.push(b',');
                }
                let item = item.unwrap();
                let found = sonic_rs::get_many(item.as_raw_str(), &tree).unwrap();
                for (index, (value, field)) in found.iter().zip(selection.fields).enumerate() {
                    member(output, index == 0, field.key);
                    output.extend_from_slice(value.as_ref().unwrap().as_raw_str().as_bytes());
                }
                output.push(b'}');
            }
        });
    })
}

/// `{"key":` or `,"key":`.
fn member(output: &mut Vec<u8>, first: bool, key: &str) {
    output.extend_from_slice(if first { b"{\"" } else { b",\"" });
    output.extend_from_slice(key.as_bytes());
    output.extend_from_slice(b"\":");
}

fn jiter(selection: BenchSelection) -> Job {
    Job::new("jiter", move |document, output| {
        let mut jiter = Jiter::new(document);
        enter(&mut jiter, selection.root, &mut |jiter| {
            wrapped(selection.root, output, |output| {
                let mut next = jiter.next_array().unwrap();
                let mut first = true;
                while next.is_some() {
                    if !first {
                        output.push(b',');
                    }
                    first = false;
                    let mut first_member = true;
                    fields(jiter, selection.fields, 0, output, &mut first_member);
                    output.push(b'}');
                    next = jiter.array_step().unwrap();
                }
            });
        });
        jiter.finish().unwrap();
    })
}

/// Finds the value at `path`, calls a function for it, and skips everything else.
pub(super) fn enter<'j>(
    jiter: &mut Jiter<'j>,
    path: &[&str],
    found: &mut dyn FnMut(&mut Jiter<'j>),
) {
    let Some((name, rest)) = path.split_first() else { return found(jiter) };
    let mut hit = jiter.next_object().unwrap().map(|key| key == *name);
    while let Some(is_it) = hit {
        if is_it {
            enter(jiter, rest, found);
        } else {
            jiter.next_skip().unwrap();
        }
        hit = jiter.next_key().unwrap().map(|key| key == *name);
    }
}

/// Copies the fields of one object.
fn fields(
    jiter: &mut Jiter<'_>,
    wanted: &[SelectedField],
    depth: usize,
    output: &mut Vec<u8>,
    first: &mut bool,
) {
    let hit = |key: &str| wanted.iter().position(|field| field.path.get(depth) == Some(&key));
    let mut next = jiter.next_object().unwrap().map(hit);
    while let Some(found) = next {
        match found {
            None => jiter.next_skip().unwrap(),
            Some(at) if wanted[at].path.len() == depth + 1 => {
                let peek = jiter.peek().unwrap();
                let start = jiter.current_index();
                jiter.known_skip(peek).unwrap();
                member(output, *first, wanted[at].key);
                *first = false;
                output.extend_from_slice(jiter.slice_to_current(start));
            }
            Some(at) => fields(jiter, &wanted[at..=at], depth + 1, output, first),
        }
        next = jiter.next_key().unwrap().map(hit);
    }
}

fn struson(selection: BenchSelection) -> Job {
    Job::new("struson", move |document, output| {
        let mut reader = JsonStreamReader::new(&**document);
        let mut writer = JsonStreamWriter::new(output);
        for name in selection.root {
            reader.begin_object().unwrap();
            writer.begin_object().unwrap();
            while reader.next_name().unwrap() != *name {
                reader.skip_value().unwrap();
            }
            writer.name(name).unwrap();
        }
        reader.begin_array().unwrap();
        writer.begin_array().unwrap();
        while reader.has_next().unwrap() {
            writer.begin_object().unwrap();
            transfer(&mut reader, &mut writer, selection.fields, 0);
            writer.end_object().unwrap();
        }
        reader.end_array().unwrap();
        writer.end_array().unwrap();
        for _ in selection.root {
            while reader.has_next().unwrap() {
                reader.skip_name().unwrap();
                reader.skip_value().unwrap();
            }
            reader.end_object().unwrap();
            writer.end_object().unwrap();
        }
        reader.consume_trailing_whitespace().unwrap();
        writer.finish_document().unwrap();
    })
}

fn transfer(
    reader: &mut impl JsonReader,
    writer: &mut impl JsonWriter,
    wanted: &[SelectedField],
    depth: usize,
) {
    reader.begin_object().unwrap();
    while reader.has_next().unwrap() {
        let name = reader.next_name().unwrap();
        match wanted.iter().position(|field| field.path.get(depth) == Some(&name)) {
            None => reader.skip_value().unwrap(),
            Some(at) if wanted[at].path.len() == depth + 1 => {
                writer.name(wanted[at].key).unwrap();
                reader.transfer_to(writer).unwrap();
            }
            Some(at) => transfer(reader, writer, &wanted[at..=at], depth + 1),
        }
    }
    reader.end_object().unwrap();
}
