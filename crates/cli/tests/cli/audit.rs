//! `tamis audit`: finds the weaknesses that are planted in manifests, and nothing in closed ones.

use super::*;

/// The names of filters and the weakness that the comment before each of them names.
fn planted(manifest: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = manifest.lines().collect();
    let pairs = lines.windows(2).filter_map(|pair| {
        let weakness = pair[0].strip_prefix("  # ")?;
        let name = pair[1].trim().split_once(':')?.0;
        Some((name.to_owned(), weakness.to_owned()))
    });
    pairs.collect()
}

fn source(name: &str) -> String {
    std::fs::read_to_string(root().join("tests/cases/audit").join(name)).unwrap()
}

fn audit(folder: &Folder, args: &[&str]) -> (i32, Value) {
    let args: Vec<&str> =
        ["audit", "--json", "--seconds", "86400"].iter().chain(args).copied().collect();
    let ran = folder.tamis(&args, b"");
    assert_eq!(ran.err, "", "{args:?}");
    (ran.code, serde_json::from_str(&ran.out).unwrap())
}

fn weaknesses(filter: &Value) -> Vec<&str> {
    let findings = filter["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["weakness"].as_str().unwrap()).collect()
}

#[test]
fn every_planted_weakness_is_found() {
    let folder = Folder::new();
    let manifest = source("weak.yaml");
    folder.write("weak.yaml", &manifest);
    let (code, report) = audit(&folder, &["weak.yaml", "--seed", "3"]);
    assert_eq!(code, 1);
    let planted = planted(&manifest);
    assert!(planted.len() > 15, "{planted:?}");
    let kinds: std::collections::BTreeSet<&str> =
        planted.iter().map(|(_, weakness)| weakness.as_str()).collect();
    assert!(kinds.len() >= 12, "{kinds:?}");
    let filters = report["filters"].as_array().unwrap();
    assert_eq!(filters.len(), planted.len());
    for (name, weakness) in &planted {
        let filter = filters.iter().find(|filter| filter["name"] == **name).unwrap();
        let found = weaknesses(filter);
        assert!(found.contains(&weakness.as_str()), "{name}: {filter:#}");
        assert!(!found.contains(&"unexplained"), "{name}: {filter:#}");
        for finding in filter["findings"].as_array().unwrap() {
            let document = finding["document"].as_str().unwrap();
            assert!(document.len() < 200, "{name}: {document}");
        }
    }
}

#[test]
fn nothing_is_found_in_closed_filters() {
    let folder = Folder::new();
    folder.write("closed.yaml", source("closed.yaml"));
    let (code, report) = audit(&folder, &["closed.yaml", "--seed", "11"]);
    let filters = report["filters"].as_array().unwrap();
    assert!(filters.len() >= 10);
    for filter in filters {
        assert_eq!(weaknesses(filter), [""; 0], "{filter:#}");
        assert!(filter["places"].as_u64().unwrap() > 0, "{filter:#}");
        assert_eq!(filter["complete"], true, "{filter:#}");
        assert!(filter["documents"].as_u64() > filter["refused"].as_u64(), "{filter:#}");
        assert!(filter["results"].as_u64().unwrap() > 0, "{filter:#}");
    }
    assert_eq!(code, 0);
}

/// One manifest of each format.
const FORMATS: [(&str, &str, &[&str]); 4] = [
    (
        "kimbap.yaml",
        "actions:\n  get:\n    method: GET\n    path: /\n    \
         response: {type: array, filter: {select: {id: id, user: user}, exclude: [user.ssn]}}\n",
        &["auto-root"],
    ),
    (
        "reshapr.yaml",
        "apiVersion: reshapr.io/v1alpha1\nkind: ToolsFilters\nservice: {name: Crm, version: '1'}\nfilters:\n  get:\n    \
         patches: [{op: test, path: /v, value: 1}, {op: remove, path: /ssn}]\n",
        &["test-stops"],
    ),
    ("aios.yaml", "tools:\n  get:\n    filter: {type: field, fields: [id], max_rows: 3}\n", &[]),
    ("zeph.toml", "[tools.filters]\nenabled = true\n", &[]),
];

#[test]
fn manifests_of_all_formats() {
    let folder = Folder::new();
    for (file, text, expected) in FORMATS {
        folder.write(file, text);
        let (code, report) = audit(&folder, &[file]);
        let filters = report["filters"].as_array().unwrap();
        let found: Vec<&str> = filters.iter().flat_map(weaknesses).collect();
        assert!(expected.iter().all(|weakness| found.contains(weakness)), "{file}: {report:#}");
        assert_eq!(code, i32::from(!found.is_empty()), "{file}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{file}: {report:#}");
    }
}

#[test]
fn reports_are_repeatable() {
    let folder = Folder::new();
    folder.write("a.yaml", "version: 1\nfilters: {a: {exclude: [ssn]}, b: {select: [id]}}\n");
    let run = |seed: &str| folder.tamis(&["audit", "a.yaml", "--seed", seed], b"");
    let first = run("1");
    assert_eq!(first.out, run("1").out);
    assert_ne!(first.out, run("2").out);
    assert!(first.out.contains("a.yaml: b: no place to attack\n"), "{}", first.out);
    for part in ["  auto-root: exclude ssn\n", "    document  ", "    output    ", "    remedy    "]
    {
        assert!(first.out.contains(part), "{}", first.out);
    }
    let (_, report) = audit(&folder, &["a.yaml", "--tool", "a"]);
    assert_eq!(report["version"], 1);
    assert_eq!(report["filters"].as_array().unwrap().len(), 1);
    let finding = &report["filters"][0]["findings"][0];
    for key in ["weakness", "rule", "path", "document", "output", "how", "remedy"] {
        assert!(!finding[key].is_null(), "{key}: {finding:#}");
    }
}

#[test]
fn samples_are_read() {
    let folder = Folder::new();
    folder.write("a.yaml", "version: 1\nfilters: {a: {root: object, exclude: [user.ssn]}}\n");
    std::fs::create_dir(folder.path("responses")).unwrap();
    folder.write("responses/a.json", r#"{"user":{"name":"x"},"more":[{"a":1}]}"#);
    folder.write("other.json", "{}");
    let documents = |report: &Value| report["filters"][0]["documents"].as_u64().unwrap();
    let without = documents(&audit(&folder, &["a.yaml"]).1);
    for samples in ["responses", "responses/a.json", "other.json"] {
        let with = documents(&audit(&folder, &["a.yaml", "--samples", samples]).1);
        assert!(with > without, "{samples}");
    }
    // A sample that is not used is named.
    folder.write("responses/other.json", "{}");
    let ran = folder.tamis(&["audit", "a.yaml", "--samples", "responses"], b"");
    assert!(ran.err.contains("other.json: warning: not used"), "{}", ran.err);
    std::fs::create_dir(folder.path("empty")).unwrap();
    let ran = folder.tamis(&["audit", "a.yaml", "--samples", "empty"], b"");
    assert!(ran.err.contains("empty: warning: no samples"), "{}", ran.err);
    folder.write("broken.json", "{\"user\":");
    let ran = folder.tamis(&["audit", "a.yaml", "--samples", "broken.json"], b"");
    assert!((ran.code, ran.err.contains("broken.json: ")) == (1, true), "{}", ran.err);
    folder.write("a.json.gz", gzip(br#"{"user":{"name":"x"},"more":[{"a":1}]}"#));
    let with = documents(&audit(&folder, &["a.yaml", "--samples", "a.json.gz"]).1);
    assert!(with > without);
    let missing = folder.tamis(&["audit", "a.yaml", "--samples", "none.json"], b"");
    assert_eq!(missing.code, 1);
    assert!(missing.err.starts_with("tamis: none.json: "), "{}", missing.err);
}

#[test]
fn rules_as_flags_and_wrong_use() {
    let folder = Folder::new();
    folder.write("bad.yaml", "version: 1\nfilters: {a: {exclud: [ssn]}}\n");
    let cases: [(&[&str], i32, &str); 4] = [
        (&["audit", "--retain", "/id"], 0, ""),
        (&["audit", "--root", "/users", "--exclude", "ssn"], 1, ""),
        (
            &["audit"],
            2,
            "tamis: nothing to attack: name a manifest, or give rules such as --exclude\n",
        ),
        (
            &["audit", "--exclude", "a", "--raw"],
            2,
            "tamis: --raw is an option of a call, and an audit tries all of them; leave it out\n",
        ),
    ];
    for (args, code, printed) in cases {
        let ran = folder.tamis(args, b"");
        assert_eq!((ran.code, ran.err.as_str()), (code, printed), "{args:?}");
    }
    let ran = folder.tamis(&["audit", "bad.yaml"], b"");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("exclud"), "{}", ran.err);
    let ran = folder.tamis(&["audit", "bad.yaml", "--exclude", "a"], b"");
    assert_eq!(ran.code, 2, "{}", ran.err);
}
