//! The JSON Schema of tamis' own format against manifests that tamis reads, and some that it refuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "in a test a panic is the report")]

use serde_json::Value as Json;
use tamis_manifest::Manifest;

fn accepts(manifest: &str) -> Result<(), String> {
    let schema: Json = serde_json::from_str(Manifest::schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let manifest: Json = serde_saphyr::from_str(manifest).unwrap();
    validator.validate(&manifest).map_err(|error| error.to_string())
}

#[test]
fn it_is_a_schema() {
    let schema: Json = serde_json::from_str(Manifest::schema()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
}

#[test]
fn it_accepts_what_is_shipped() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifest/src/catalog");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            accepts(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            count += 1;
        }
    }
    assert!(count > 0, "manifests are found");
}

#[test]
fn it_agrees_with_the_reader() {
    let cases: toml::Table =
        toml::from_str(include_str!("../../../tests/cases/manifests/native.toml")).unwrap();
    let mut read = 0;
    for case in cases["case"].as_array().unwrap() {
        let text = case["manifest"].as_str().unwrap();
        if Manifest::parse("x.yaml", text).is_ok() {
            accepts(text).unwrap_or_else(|error| panic!("{}: {error}", case["name"]));
            read += 1;
        }
    }
    assert!(read >= 5, "manifests were compared");
    for spec in [
        "slect: [id]",
        "select: id",
        "select: []",
        "select: {}",
        "select: {id: [x]}",
        "select: {'': x}",
        "select: {a: ''}",
        "exclude: id",
        "exclude: ['']",
        "retain: [items]",
        "retain: ['/a~2b']",
        "retain: [[/a]]",
        "root: []",
        "extract: ''",
        "siblings: keeps",
        "max_items: -1",
        "max_items: 2.5",
        "max_items: '3'",
        "stop_early: 'true'",
        "on_error: open",
        "validation: none",
        "whitespace: true",
        "duplicate_keys: last",
        "allow_raw: 1",
        "text_filter: []",
        "text_filter: {strip_ansi: 1}",
        "text_filter: {strip_lines_matching: x}",
        "text_filter: {strip_lines_matching: ['']}",
        "text_filter: {keep_lines_matching: []}",
        "text_filter: {keep_lines_matching: [[x]]}",
        "text_filter: {max_lines: -1}",
        "text_filter: {on_empty: [x]}",
        "text_filter: {dedupe: true}",
        "text_filter: {dedup: 1}",
        "text_filter: {dedup: {}}",
        "text_filter: {dedup: {scope: some}}",
        "text_filter: {dedup: {scope: all, max: 3}}",
        "budget: 4096",
        "budget: {}",
        "budget: {bytes: 0}",
        "budget: {bytes: -1}",
        "budget: {tokens: 1.5}",
        "budget: {tokens: '1'}",
        "budget: {bytes: 1, tokens: 1}",
        "budget: {byte: 1}",
        "min_items: -1",
        "min_items: null",
        "omitted: marks",
        "omitted: true",
        "on_over: fail",
        "compact: '{{.id}}'",
        "compact: {}",
        "compact: {header: x}",
        "compact: {item: ''}",
        "compact: {item: [x]}",
        "compact: {item: x, limit: 3}",
    ] {
        let text = format!("version: 1\nfilters:\n  a:\n    {spec}\n");
        assert!(Manifest::parse("x.yaml", &text).is_err(), "{spec} is read");
        assert!(accepts(&text).is_err(), "{spec} is in the schema");
    }
    for text in [
        "version: 2\nfilters: {}",
        "version: '1'\nfilters: {}",
        "filters: {}",
        "version: 1",
        "version: 1\nfilters: []",
        "version: 1\nfilters: {a: []}",
        "version: 1\nfilters: {a: }",
        "version: 1\nfilters: {'': {}}",
        "version: 1\nfilters: {'a{b}': {}}",
        "version: 1\nfilters: {}\nfilter: {}",
    ] {
        assert!(Manifest::parse("x.yaml", text).is_err(), "{text} is read");
        assert!(accepts(text).is_err(), "{text} is in the schema");
    }
}
