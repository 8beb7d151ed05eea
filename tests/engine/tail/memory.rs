//! Memory, counted at the allocator, over documents that are far longer than it: they are made while they are read.

use tamis::spec::{Budget, Compact, Omitted};
use tamis::text::TextSpec;
use tamis::{Filter, Program, Report, Sink, Spec};

/// The maximum allocation of a run: its machines, 16 KiB of budget, and a part of a chunk.
const PEAK: u64 = 1 << 20;
const BUDGET: Budget = Budget::Bytes(16 << 10);

/// A sink that keeps the beginning of the output and counts its bytes.
#[derive(Default)]
struct Counting {
    begins: Vec<u8>,
    bytes: u64,
}

impl Sink for Counting {
    fn write(&mut self, bytes: &[u8]) {
        let room = 64_usize.saturating_sub(self.begins.len());
        self.begins.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.bytes += bytes.len() as u64;
    }
}

/// A document of one part, repeated.
struct Shape {
    name: &'static str,
    spec: Spec,
    before: &'static str,
    part: &'static str,
    after: &'static str,
    /// Bytes of the output.
    leaves: std::ops::RangeInclusive<u64>,
}

const ITEM: &str = r#"{"id":7,"title":"a title of usual length","body":"line\nline \u00e9 é 😀","user":{"login":"x","id":null}},"#;
const LONG: &str = "0123456789 \\u0041\\ud83d\\ude00 é😀 \\\\";

/// Repeats parts to about `size` bytes; returns the report, the output's length, and the peak.
fn run(shape: &Shape, size: usize) -> (Report, Counting, u64) {
    let program = Program::compile(&shape.spec).expect("the spec compiles");
    let piece = shape.part.repeat((60 << 10) / shape.part.len());
    let mut done = None;
    let measured = allocation_counter::measure(|| {
        let mut filter = Filter::new(&program, Counting::default());
        filter.write(shape.before.as_bytes()).expect(shape.name);
        for _ in 0..size / piece.len() {
            filter.write(piece.as_bytes()).expect(shape.name);
        }
        filter.write(shape.after.as_bytes()).expect(shape.name);
        let report = filter.end().expect(shape.name);
        done = Some((report, filter.into_sink()));
    });
    let (report, sink) = done.expect("it ran");
    (report, sink, measured.bytes_max)
}

fn shapes() -> Vec<Shape> {
    let full = 16_000..=16_384;
    let budget = || Spec::new().budget(BUDGET);
    let compact = Compact::new("{{.id}} {{.title}}").header("{{.Total}} items");
    let shape =
        |name, spec, before, part, after, leaves| Shape { name, spec, before, part, after, leaves };
    vec![
        shape(
            "items",
            budget().root("items"),
            r#"{"n":1,"items":["#,
            ITEM,
            r#"0],"z":[]}"#,
            full.clone(),
        ),
        shape("items, auto", budget(), r#"{"items":["#, ITEM, "0]}", full.clone()),
        shape(
            "select",
            budget().root("items").select("id"),
            r#"{"items":["#,
            ITEM,
            "0]}",
            full.clone(),
        ),
        shape("small items", budget(), "[", "{},", "1]", full),
        shape("one long item", budget(), r#"["a",""#, LONG, "\"]", 37..=37),
        shape(
            "a long string",
            budget().root("object"),
            r#"{"a":""#,
            LONG,
            "\",\"b\":[]}",
            8000..=16_384,
        ),
        shape(
            "a long string that stays",
            budget().min_items(1),
            r#"[""#,
            LONG,
            "\",1,2]",
            8000..=16_384,
        ),
        shape(
            "text",
            budget().root("object").text_filter(TextSpec::new().dedup(true)),
            r#"{"raw":""#,
            "a line\\na line\\nanother\\n",
            "\"}",
            8000..=16_384,
        ),
        shape(
            "compact",
            Spec::new().root("items").max_items(50).compact(compact.clone()),
            r#"{"items":["#,
            ITEM,
            "0]}",
            1300..=1500,
        ),
        shape(
            "compact, budget",
            budget().root("items").compact(compact),
            r#"{"items":["#,
            ITEM,
            "0]}",
            2000..=16_384,
        ),
        shape(
            "an object",
            budget().root("object"),
            "{",
            r#""m":{"note":"0123456789abcdefghijklmnopqrstuvwxyz"},"#,
            r#""n":1}"#,
            2000..=16_384,
        ),
        shape(
            "an object, nested",
            budget().root("object"),
            r#"{"a":["#,
            ITEM,
            "1]}",
            2000..=16_384,
        ),
        shape(
            "an object, without marks",
            budget().root("object").omitted(Omitted::Silent),
            r#"{"a":["#,
            r#"{"a":[1,2,3],"b":{"c":[4,5]}},"#,
            "1]}",
            500..=16_384,
        ),
        shape(
            "members behind the payload",
            budget().root("first"),
            r#"{"items":[1,2],"x":0,"#,
            r#""m":{"note":"0123456789"},"#,
            r#""n":1}"#,
            1000..=16_384,
        ),
        // Nothing can make these fit: the best effort streams.
        shape("items that stay", budget().min_items(u64::MAX), "[", ITEM, "1]", 1 << 20..=u64::MAX),
        shape(
            "a long name",
            budget().root("object"),
            r#"{""#,
            "k",
            "\":1,\"a\":1}",
            1 << 20..=u64::MAX,
        ),
    ]
}

#[test]
fn no_shape_makes_memory_grow() {
    for shape in shapes() {
        let mut said = Vec::new();
        for size in [8 << 20, 24 << 20] {
            let (report, sink, peak) = run(&shape, size);
            assert!(peak <= PEAK, "{}: {peak} bytes for {size}", shape.name);
            assert!(shape.leaves.contains(&sink.bytes), "{}: {} bytes", shape.name, sink.bytes);
            assert!(report.held_peak_bytes <= 64 << 10, "{}: {report:?}", shape.name);
            said.push((peak, sink.begins));
        }
        // A longer document takes no more memory, apart from a page or two.
        let grown = said[1].0.saturating_sub(said[0].0);
        assert!(grown <= 64 << 10, "{}: {grown} bytes more", shape.name);
        assert_eq!(said[0].1, said[1].1, "{}", shape.name);
    }
}

#[test]
fn two_hundred_megabytes_to_sixteen_kilobytes() {
    for shape in shapes().into_iter().filter(|shape| ["items", "compact"].contains(&shape.name)) {
        let (report, sink, peak) = run(&shape, 200 << 20);
        assert!(report.original_bytes > 199 << 20, "{}", shape.name);
        assert!(shape.leaves.contains(&sink.bytes), "{}: {} bytes", shape.name, sink.bytes);
        assert!(peak <= PEAK, "{}: {peak} bytes", shape.name);
    }
}

/// An item of eight megabytes, in an array.
fn large_item(values: usize) -> String {
    format!(r#"[{{"id":1,"x":[{}1]}}]"#, "1,".repeat(values))
}

/// A template keeps what it names of an item, and values no larger than a few times the longest item.
#[test]
fn a_large_item_costs_what_its_template_names() {
    let document = large_item(4_000_000);
    let run = |item: &str, document: &str| {
        let program = Program::compile(&Spec::new().compact(Compact::new(item))).unwrap();
        let mut result = None;
        let measured = allocation_counter::measure(|| {
            result = Some(tamis::filter_slice(&program, document.as_bytes()));
        });
        (result.unwrap(), measured.bytes_max)
    };
    let (result, peak) = run("{{.id}}", &document);
    assert_eq!(result.unwrap().0, br#"{"summary":"1","_compact":true,"_original_items":1}"#);
    // The item itself, in a list that grows, and the document that waits.
    assert!(peak < 40 << 20, "{peak} bytes");
    for item in ["{{len .x}}", "{{range .x}}{{.}}{{end}}", "{{.}}", "{{index $ \"id\"}}"] {
        let (result, peak) = run(item, &document);
        let (output, report) = result.unwrap();
        assert!(output == document.as_bytes(), "{item}: the item is left as it is");
        let why = report.compact_error.unwrap_or_default();
        assert!(why.contains("bytes of memory"), "{item}: {why}");
        assert!(!why.contains("limit `item`"), "{item}: {why}");
        assert!(peak < 112 << 20, "{item}: {peak} bytes");
    }
    // As many as there is room for.
    let (result, peak) = run("{{len .x}}", &large_item(300_000));
    assert!(result.unwrap().0.starts_with(br#"{"summary":"300001""#));
    assert!(peak < 112 << 20, "{peak} bytes");
}
