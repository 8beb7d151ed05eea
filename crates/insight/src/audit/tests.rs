//! Weaknesses that are planted in specs, specs without any, and what reports promise.

use super::{Audit, AuditReport, Weakness};
use tamis::Spec;

fn audited(spec: &str) -> AuditReport {
    let spec: Spec = serde_json::from_str(spec).unwrap();
    let report = Audit::new(&spec).with_seed(7).run().unwrap();
    assert!(report.places > 0 && report.complete, "{report:?}");
    report
}

#[test]
fn weak_specs() {
    for (spec, weakness) in [
        (r#"{"exclude":["ssn"]}"#, Weakness::AutoRoot),
        (r#"{"exclude":["user.ssn"],"root":"/users"}"#, Weakness::OpenFallback),
        (r#"{"exclude":["user.ssn","token"],"root":"object"}"#, Weakness::JsonString),
        (r#"{"exclude":["ssn"],"root":"object","allow_raw":true}"#, Weakness::RawOutput),
        (
            r#"{"patches":[{"op":"remove","path":"/ssn"}],"lenient_remove":true}"#,
            Weakness::LenientRemove,
        ),
        (
            r#"{"patches":[{"op":"remove","path":"/ssn"},{"op":"remove","path":"/token"}],"on_error":"raw"}"#,
            Weakness::OpenFallback,
        ),
        (
            r#"{"when":[{"test":{"path":"/kind","value":"a"},"retain":["/id","/kind"]}],"otherwise":"pass"}"#,
            Weakness::OtherwisePass,
        ),
        (
            r#"{"patches":[{"op":"test","path":"/v","value":1},{"op":"remove","path":"/ssn"}],"on_test_failure":"stop"}"#,
            Weakness::TestStops,
        ),
        (
            r#"{"json_strings":[{"at":"/text","apply":{"exclude":["ssn"],"root":"object"},"otherwise":"keep"}],"root":"object"}"#,
            Weakness::StringFallback,
        ),
        (
            r#"{"select":["id","owner.login"],"root":"/users","on_error":"closed"}"#,
            Weakness::Siblings,
        ),
        (r#"{"exclude":["labels[].url"],"root":"object"}"#, Weakness::PathShape),
        (r#"{"redact":{"paths":["ssn"]},"root":"first","on_error":"closed"}"#, Weakness::AutoRoot),
        (r#"{"redact":{"paths":["user.ssn"]},"root":"/users"}"#, Weakness::OpenFallback),
        (r#"{"redact":{"paths":["user.ssn"]},"root":"object"}"#, Weakness::JsonString),
        (r#"{"redact":{"paths":["labels[].url"]},"root":"object"}"#, Weakness::PathShape),
        (r#"{"redact":{"paths":["/list/0/ssn"]},"root":"object"}"#, Weakness::OneElement),
        (
            r#"{"redact":{"paths":["who"]},"select":{"who":"user"},"root":"/users"}"#,
            Weakness::OpenFallback,
        ),
        (r#"{"patches":[{"op":"remove","path":"/items/0/ssn"}]}"#, Weakness::OneElement),
        (
            r#"{"patches":[{"op":"copy","from":"/ssn","path":"/id"},{"op":"remove","path":"/ssn"}]}"#,
            Weakness::Copied,
        ),
        (r#"{"extract":"data","exclude":["ssn"],"root":"object"}"#, Weakness::OpenFallback),
    ] {
        let report = audited(spec);
        let found = report.findings.iter().find(|finding| finding.weakness == weakness);
        let finding = found.unwrap_or_else(|| panic!("{spec}: {report:#?}"));
        assert!(finding.document.contains("canary-"), "{finding:?}");
        assert!(finding.document.len() < 140, "{finding:?}");
        let explained = report.findings.iter().all(|one| one.weakness != Weakness::Unexplained);
        assert!(explained, "{spec}: {report:#?}");
    }
}

#[test]
fn closed_specs() {
    for spec in [
        r#"{"retain":["/users/id","/total"]}"#,
        r#"{"retain":["/items/owner/login","/items/0/id"]}"#,
        r#"{"select":["id","owner.login"],"root":"object","on_error":"closed"}"#,
        r#"{"select":["id","owner.login"],"root":"/users","siblings":"drop","on_error":"closed"}"#,
        r#"{"select":["id","labels[]{name,color}","owner{login,plan{name}}"],"root":"/users","siblings":"drop","on_error":"closed"}"#,
        r#"{"select":["id","tags[].name"],"root":"object","on_error":"closed","drop_nulls":true,"max_items":3}"#,
        r#"{"select":["id","ssn"],"exclude":["ssn"],"root":"object","on_error":"closed"}"#,
        r#"{"select":{"id":"id","who":"owner.login"},"exclude":["who"],"root":"/data/users","siblings":"drop","on_error":"closed"}"#,
        r#"{"patches":[{"op":"remove","path":"/user/ssn"}]}"#,
        r#"{"patches":[{"op":"test","path":"/v","value":1},{"op":"replace","path":"/ssn","value":"x"}]}"#,
        r#"{"when":[{"test":{"path":"/kind","value":"a"},"retain":["/id","/kind"]},{"test":{"path":"/kind","value":"b"},"retain":["/name"]}],"otherwise":"drop"}"#,
        r#"{"when":[{"test":{"path":"/kind","value":"a"},"select":["id"],"root":"object","on_error":"closed"}],"otherwise":"error"}"#,
        r#"{"json_strings":[{"at":"/content/text","apply":{"retain":["/id"]},"otherwise":"error"}],"retain":["/content/text","/content/type"]}"#,
        r#"{"retain":["/text","/id"],"json_strings":[{"at":"/text","apply":"same","otherwise":"drop"}]}"#,
        r#"{"extract":"data","retain":["/id"]}"#,
        r#"{"select":["id","owner.login"],"redact":{"paths":["login"]},"root":"object","on_error":"closed"}"#,
        r#"{"retain":["/users"],"select":["id"],"root":"/users","on_error":"closed"}"#,
        r#"{"select":["id"],"on_error":"closed","siblings":"drop"}"#,
    ] {
        let report = audited(spec);
        assert_eq!(report.findings, [], "{spec}");
    }
}

#[test]
fn rules_that_only_save_have_no_places() {
    for spec in [
        r#"{}"#,
        r#"{"select":["id"],"max_items":3,"drop_nulls":true}"#,
        r#"{"retain":[""]}"#,
        r#"{"patches":[{"op":"add","path":"/a","value":1}]}"#,
    ] {
        let spec: Spec = serde_json::from_str(spec).unwrap();
        let report = Audit::new(&spec).run().unwrap();
        assert_eq!((report.places, report.documents, report.findings), (0, 0, Vec::new()));
    }
}

#[test]
fn equal_seeds_have_equal_reports() {
    let spec = Spec::new().exclude("ssn").exclude("labels[].url");
    let audit = Audit::new(&spec).with_sample(r#"{"items":[{"id":1,"ssn":2}],"x":{}}"#);
    let report = audit.clone().with_seed(1).run().unwrap();
    assert_eq!(report, audit.clone().with_seed(1).run().unwrap());
    assert_ne!(report, audit.clone().with_seed(2).run().unwrap());
    let short = audit.with_max_documents(10).run().unwrap();
    assert_eq!((short.documents, short.complete), (10, false));
}

/// Values are planted in samples, too: only the sample shows that the item is in a list of lists.
#[test]
fn samples_are_attacked() {
    let spec = Spec::new().exclude("user.ssn").root("object");
    let sample = r#"{"kind":"x","user":{"name":"a"},"more":[1,2,3,4,5]}"#;
    let report = Audit::new(&spec).with_sample(sample).with_sample("no JSON").run().unwrap();
    let without = Audit::new(&spec).run().unwrap();
    assert!(report.documents > without.documents);
    assert!(report.findings.iter().all(|finding| finding.weakness == Weakness::JsonString));
}

/// Odd specs neither panic nor take long.
#[test]
fn odd_specs() {
    for spec in [
        r#"{"retain":["/a/999999999/b","/-","/"]}"#,
        r#"{"exclude":["[3].x","*","*.*","[\"\"]","/0/1/2"],"root":"/0"}"#,
        r#"{"patches":[{"op":"remove","path":""}]}"#,
        r#"{"patches":[{"op":"remove","path":"/a/-"}],"on_error":"raw"}"#,
        r#"{"select":["[].a","*{b}"],"on_error":"closed","root":"/x/y/z"}"#,
        r#"{"exclude":["a"],"encode":"csv","siblings":"drop"}"#,
        r#"{"json_strings":[{"at":"/a","apply":{"json_strings":[{"at":"/b","apply":{"exclude":["c"]}}]}}]}"#,
    ] {
        let spec: Spec = serde_json::from_str(spec).unwrap();
        _ = Audit::new(&spec).with_max_documents(3000).run();
    }
}

/// The rule of places at which credentials are planted.
const SECRETS: &str = "redact: secrets";

/// Credentials are planted in the members that leave, and none of them does.
#[test]
fn credentials_are_planted() {
    for (spec, paths) in [
        (r#"{"redact":{"secrets":true}}"#, &["note"][..]),
        (r#"{"redact":{"secrets":"aggressive"}}"#, &["note"]),
        (r#"{"select":["id","note"],"root":"object","redact":{"secrets":true}}"#, &["id", "note"]),
        (
            r#"{"exclude":["ssn"],"root":"object","on_error":"closed","redact":{"secrets":true}}"#,
            &["note"],
        ),
    ] {
        let report = audited(spec);
        let of_secrets = report.findings.iter().filter(|one| one.rule == SECRETS);
        assert_eq!(of_secrets.count(), 0, "{spec}: {:?}", report.findings);
        let parsed: Spec = serde_json::from_str(spec).unwrap();
        let documents = Audit::new(&parsed).documents().unwrap();
        let secret: Vec<_> = documents.iter().filter(|one| one.rule == SECRETS).collect();
        for path in paths {
            assert!(secret.iter().any(|one| one.path == **path), "{spec}: {documents:?}");
        }
        for one in secret {
            assert!(one.value.starts_with("ghp_") && one.text.contains(&one.value), "{one:?}");
            assert!(one.value.ends_with(&one.canary) && !one.leaks, "{one:?}");
        }
        for one in documents.iter().filter(|one| one.rule != SECRETS) {
            assert!(one.value.starts_with("canary-") && one.text.contains(&one.value), "{one:?}");
        }
    }
}

/// In a sample, credentials are planted at the selected paths of its items, and the rest of it stays.
#[test]
fn credentials_are_planted_in_samples() {
    let spec = r#"{"select":["name","owner.login"],"redact":{"secrets":true}}"#;
    let parsed: Spec = serde_json::from_str(spec).unwrap();
    let sample = r#"[{"name":"a","owner":{"login":"b","plan":"free"}},{"name":"c","owner":null}]"#;
    let audit = Audit::new(&parsed).with_sample(sample);
    let documents = audit.documents().unwrap();
    for place in [r#""name":"ghp_"#, r#""login":"ghp_"#] {
        let is_planted = |text: &str| text.contains(place) && text.contains(r#""plan":"free""#);
        assert!(documents.iter().any(|one| is_planted(&one.text) && !one.leaks), "{documents:?}");
    }
    assert!(audit.run().unwrap().findings.is_empty());
}

/// Personal data are planted, too, by themselves and next to credentials.
#[test]
fn personal_data_are_planted() {
    const PERSONAL: &str = "redact: {personal: true}";
    for (spec, places) in [
        (r#"{"redact":{"personal":true}}"#, 1),
        (r#"{"redact":{"personal":true,"secrets":true}}"#, 2),
        (r#"{"select":["id","note"],"root":"object","redact":{"personal":true}}"#, 2),
    ] {
        let report = audited(spec);
        assert_eq!(report.places, places, "{spec}");
        assert!(report.findings.is_empty(), "{spec}: {:?}", report.findings);
        let parsed: Spec = serde_json::from_str(spec).unwrap();
        let documents = Audit::new(&parsed).documents().unwrap();
        let mut personal = documents.iter().filter(|one| one.rule == PERSONAL);
        assert!(personal.clone().count() > 0, "{documents:?}");
        assert!(personal.all(|one| one.text.contains('@') && !one.leaks), "{documents:?}");
    }
    let spec = r#"{"json_strings":[{"at":"/text","apply":{"redact":{"personal":true},"root":"object"},"otherwise":"keep"}],"root":"object"}"#;
    let report = audited(spec);
    let finding = report.findings.first().unwrap();
    assert_eq!(finding.weakness, Weakness::StringFallback);
    assert!(finding.output.contains("@example.org"), "{finding:?}");
}

/// A credential that leaves is found, and is still a credential in the smallest document: a plain value would leave
/// under every rule.
#[test]
fn credentials_that_leave_are_found() {
    for (spec, weakness) in [
        (
            r#"{"when":[{"test":{"path":"/kind","value":"a"},"redact":{"secrets":true}}],"otherwise":"pass"}"#,
            Weakness::OtherwisePass,
        ),
        (
            r#"{"json_strings":[{"at":"/text","apply":{"redact":{"secrets":true},"root":"object"},"otherwise":"keep"}],"root":"object"}"#,
            Weakness::StringFallback,
        ),
    ] {
        let report = audited(spec);
        let mut found = report.findings.iter().filter(|one| one.rule.ends_with(SECRETS));
        let finding = found.find(|one| one.weakness == weakness);
        let finding = finding.unwrap_or_else(|| panic!("{spec}: {report:#?}"));
        for text in [&finding.document, &finding.output] {
            assert!(text.contains("ghp_") && !text.contains("canary-"), "{finding:?}");
        }
    }
}
