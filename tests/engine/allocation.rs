//! A warm filter allocates nothing while it skips and copies, and memory does not grow with the length of any input.

use std::fmt::Write as _;

use tamis::spec::{ItemCondition, PatchOp, Validation, ValueTest};
use tamis::{Filter, Program, Sink, Spec};

/// Counts the output and drops it.
struct Nowhere(u64);

impl Sink for Nowhere {
    fn write(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

fn programs() -> Vec<(&'static str, Spec)> {
    let select = Spec::new().root("object").select("id").select("user.name");
    let patches = |spec: Spec| {
        let removed = ["/0/user/name", "/7/note", "/id", "/none"].map(PatchOp::remove);
        removed.into_iter().fold(spec, Spec::patch).lenient_remove(true)
    };
    vec![
        ("patches", patches(Spec::new())),
        ("retain and patches", patches(Spec::new().retain("/id").retain("/user/name"))),
        ("copy", Spec::new()),
        ("skip", Spec::new().retain("/none")),
        ("skip, structure", Spec::new().retain("/none").validation(Validation::Structure)),
        ("select", select.clone()),
        ("select, structure", select.validation(Validation::Structure)),
        ("select, where", Spec::new().root("object").select("id").keep_where(known_mail())),
        ("exclude", Spec::new().root("object").exclude("user.mail")),
        ("drops", Spec::new().root("object").drop_nulls(true).drop_empty(true)),
    ]
}

/// Items with an address of mail.
fn known_mail() -> ItemCondition {
    ItemCondition::new("user.mail", ValueTest::new().exists(true))
}

fn item(number: usize) -> String {
    format!(
        r#"{{"id":{number},"user":{{"name":"n{number}","mail":"m{number}@example.org","tags":[]}},"note":null,"body":"line\nline \u00e9 é {number}"}},"#
    )
}

#[test]
fn a_warm_filter_allocates_nothing() {
    let items: String = (0..2000).map(item).collect();
    for (name, spec) in programs() {
        for chunk in [4096, 64 << 10, usize::MAX] {
            let program = Program::compile(&spec).unwrap();
            let mut filter = Filter::new(&program, Nowhere(0));
            filter.write(b"[").unwrap();
            let mut feed = || {
                for chunk in items.as_bytes().chunks(chunk) {
                    filter.write(chunk).unwrap();
                }
            };
            feed();
            let allocations = allocation_counter::measure(feed);
            assert_eq!(allocations.count_total, 0, "{name}, chunks of {chunk}");
        }
    }
}

/// The beginning of a document is not like the rest of it: a select waits for its first hit, and a factored document is
/// recognised.
#[test]
fn a_restarted_filter_allocates_nothing() {
    let document = format!("[{}1]", (0..10).map(item).collect::<String>());
    for (name, spec) in programs() {
        let program = Program::compile(&spec).unwrap();
        let mut filter = Filter::new(&program, Nowhere(0));
        let mut run = || {
            filter.write(document.as_bytes()).unwrap();
            filter.finish().unwrap();
            filter.restart();
        };
        run();
        let allocations = allocation_counter::measure(run);
        assert_eq!(allocations.count_total, 0, "{name}");
    }
}

#[test]
fn memory_does_not_grow_with_the_document() {
    let members: String = (0..50_000).fold(String::new(), |mut text, number| {
        write!(text, r#""key {number}":[{number}],"#).unwrap();
        text
    });
    let long = "x".repeat(4 << 20);
    let white = " ".repeat(4 << 20);
    // Whether a select finds its first hit at the beginning. It holds the payload until then.
    let documents = [
        ("members", false, format!("{{{members}\"end\":0}}")),
        ("members after a hit", true, format!("{{\"id\":0,{members}\"end\":0}}")),
        ("a long string", false, format!("[\"{long}\"]")),
        ("a long string after a hit", true, format!("{{\"id\":0,\"x\":\"{long}\"}}")),
        ("items", true, format!("[{}1]", (0..20_000).map(item).collect::<String>())),
        ("white space", false, format!("[1{white}]")),
        ("white space after a hit", true, format!("{{\"id\":0{white}}}")),
        ("white space before a colon", false, format!("{{\"id\"{white}:1}}")),
        ("white space after a colon", false, format!("{{\"id\":{white}1}}")),
    ];
    for (name, spec) in programs() {
        let program = Program::compile(&spec).unwrap();
        for (shape, hit_is_early, document) in &documents {
            for chunk in [777, 64 << 10] {
                let measured = allocation_counter::measure(|| {
                    let mut filter = Filter::new(&program, Nowhere(0));
                    for chunk in document.as_bytes().chunks(chunk) {
                        filter.write(chunk).unwrap();
                    }
                    filter.end().unwrap();
                });
                let is_held = name.starts_with("select") && !hit_is_early;
                let held = if is_held { document.len() as u64 + (256 << 10) } else { 0 };
                let most = (256 << 10) + held;
                assert!(
                    measured.bytes_max < most,
                    "{name}, {shape}, chunks of {chunk}: {} bytes",
                    measured.bytes_max
                );
            }
        }
    }
}
