//! Which filter a tool gets.

use tamis_manifest::Manifest;

use super::{Profile, Rules};
use crate::record::RuleSource;

fn manifest(text: &str) -> Manifest {
    Manifest::parse("tamis.yaml", &format!("version: 1\nfilters:\n{text}")).unwrap()
}

#[test]
fn a_tool_gets_the_first_filter_that_knows_it() {
    let rules = Rules::new(Profile::Standard)
        .unwrap()
        .with_manifest(manifest("  list_issues: {select: [id]}\n  crm.get-user: {select: [id]}\n"))
        .with_service(None);
    let source = |tool: &str, server| rules.filter(tool, server, None).map(|filter| filter.source);
    let (own, catalog, profile) =
        (Some(RuleSource::Manifest), Some(RuleSource::Catalog), Some(RuleSource::Profile));
    for (tool, server, expected) in [
        ("list_issues", None, own),
        ("list_issues", Some("github-mcp-server"), own),
        // Only a server that is known to be the service gets the catalog's filter.
        ("get_issue", Some("github-mcp-server"), catalog),
        ("get_issue", Some("another"), profile),
        ("get_issue", None, profile),
        ("mcp__github__get_issue", None, catalog),
        ("github_get_issue", Some("another"), catalog),
        ("github_get_issue", Some("slack-mcp-server"), profile),
        ("get_issue", Some("github"), catalog),
        ("get_user", None, profile),
    ] {
        assert_eq!(source(tool, server), expected, "{tool} {server:?}");
    }
    let rules = rules.with_service(Some("crm"));
    assert_eq!(rules.find_own("get_user", None, None).map(|filter| filter.source), own);
    assert!(Rules::new(Profile::Off).unwrap().filter("x", None, None).is_none());
}

#[test]
fn filters_that_match_no_listed_tool_are_known() {
    let text = "  list: {select: [id]}\n  lsit: {exclude: [x]}\n  'get_*': {exclude: [x]}\n  crm.find-all: {select: [id]}\n  crm.x: {select: [id]}\n";
    let rules = Rules::new(Profile::Off).unwrap().with_manifest(manifest(text));
    rules.note_listed("list", None);
    assert!(rules.take_unlisted().is_empty(), "they are not checked");
    let rules = rules.with_service(Some("crm")).with_checked_names();
    for tool in ["list", "get_user", "find_all", "other"] {
        rules.note_listed(tool, None);
    }
    let unlisted: Vec<String> = rules.take_unlisted().into_iter().collect();
    assert_eq!(unlisted, ["crm.x", "lsit"]);
    assert!(rules.take_unlisted().is_empty(), "once");
}

#[test]
fn rules_that_tie_withhold_every_result() {
    let rules = Rules::new(Profile::Off)
        .unwrap()
        .with_manifest(manifest("  'ab*': {exclude: [x]}\n  '*bc': {exclude: [y]}\n"));
    assert!(rules.filter("abc", None, None).unwrap().refuses.is_some());
}

#[test]
fn the_users_rules_for_safety_apply_with_those_of_a_project() {
    let rules = Rules::new(Profile::Off)
        .unwrap()
        .with_manifest(manifest("  a: {select: {x: ssn}}\n  b: {select: [id]}\n"))
        .with_user_manifest(manifest("  a: {exclude: [ssn]}\n  b: {max_items: 3}\n"));
    let filter = rules.filter("a", None, None).unwrap();
    assert!(filter.removes_for_safety && filter.programs.len() == 3 && !filter.parameters.raw);
    let filter = rules.filter("b", None, None).unwrap();
    assert!(!filter.removes_for_safety && filter.programs.len() == 1 && filter.parameters.raw);
}

#[test]
fn rules_for_safety_are_known_in_advance() {
    let with = |text| Rules::new(Profile::Standard).unwrap().with_manifest(manifest(text));
    assert!(!Rules::new(Profile::Standard).unwrap().may_remove_for_safety());
    assert!(!with("  a: {select: [id]}\n").may_remove_for_safety());
    assert!(with("  a: {select: [id]}\n  b: {exclude: [id]}\n").may_remove_for_safety());
}

/// `off` and `lossless` use no catalog. Without savings, only rules that remove for safety remain.
#[test]
fn off_ends_all_that_saves() {
    let text = "  a: {select: [id], root: object}\n  b: {select: [id], exclude: [ssn], max_items: 3, text_filter: {max_lines: 1}}\n  'c*': {max_items: 1}\n  '*d': {max_items: 2}\n  e: {select: [id], on_error: closed, root: object, compact: {item: x}}\n";
    for profile in [Profile::Off, Profile::Lossless] {
        let rules = Rules::new(profile).unwrap().with_catalog(true).with_service(Some("github"));
        let filter = rules.filter("list_issues", None, None);
        assert!(filter.is_none_or(|filter| filter.source == RuleSource::Profile), "{profile:?}");
    }
    let rules = || Rules::new(Profile::Off).unwrap().without_savings();
    for rules in [
        rules().with_manifest(manifest(text)),
        rules().with_user_manifest(manifest(text)),
        rules().with_manifest(manifest("  b: {max_items: 1}\n")).with_user_manifest(manifest(text)),
    ] {
        assert!(rules.filter("a", None, None).is_none());
        let filter = rules.filter("b", None, None).unwrap();
        assert!(filter.removes_for_safety && filter.text.is_none() && filter.programs.len() == 1);
        assert!(!filter.parameters.raw && !filter.parameters.budget);
        let input = br#"[{"id":1,"ssn":2,"x":3},{"id":2},{},{"y":4}]"#;
        let (output, _) = tamis::filter_slice(&filter.programs[0], input).unwrap();
        assert_eq!(output, br#"[{"id":1,"x":3},{"id":2},{},{"y":4}]"#);
        // Rules that tie matter only where one may remove for safety.
        assert!(rules.filter("cd", None, None).unwrap().refuses.is_some());
        // The rules of a filter that fails closed belong together.
        let filter = rules.filter("e", None, None).unwrap();
        assert!(tamis::filter_slice(&filter.programs[0], b"[1]").is_err());
        let (output, _) = tamis::filter_slice(&filter.programs[0], br#"{"id":1,"x":2}"#).unwrap();
        assert_eq!(output, br#"{"id":1}"#);
    }
    let saving = "  'c*': {max_items: 1}\n  '*d': {max_items: 2}\n";
    assert!(rules().with_manifest(manifest(saving)).filter("cd", None, None).is_none());
}
