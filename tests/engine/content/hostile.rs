//! Hostile pages: nested deeply, unclosed, long. Work and memory are bounded by the length of the page.

use tamis::content::{Content, ContentSource};
use tamis::{Filter, Report, Sink, filter_slice};

use tamis_testkit::content::program;
use tamis_testkit::effort::{TestEffort, effort};

/// Keeps the beginning of the output, and counts all of it.
#[derive(Default)]
struct Counting {
    begins: Vec<u8>,
    bytes: u64,
}

impl Sink for Counting {
    fn write(&mut self, bytes: &[u8]) {
        let room = 256_usize.saturating_sub(self.begins.len());
        self.begins.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.bytes += bytes.len() as u64;
    }
}

/// Repeats parts up to about `size` bytes, and returns the report, the output and the peak of allocated bytes.
fn stream(content: Content, before: &str, part: &str, size: usize) -> (Report, Counting, u64) {
    let program = program(content);
    let piece = part.repeat((60 << 10) / part.len().min(60 << 10));
    let mut done = None;
    let measured = allocation_counter::measure(|| {
        let mut filter = Filter::new(&program, Counting::default());
        filter.write(before.as_bytes()).unwrap();
        for _ in 0..size / piece.len() {
            filter.write(piece.as_bytes()).unwrap();
        }
        let report = filter.end().unwrap();
        done = Some((report, filter.into_sink()));
    });
    let (report, sink) = done.unwrap();
    (report, sink, measured.bytes_max)
}

#[test]
fn deep_nesting_is_text_all_the_same() {
    for (tag, count) in [
        ("div", 20_000),
        ("b", 100_000),
        ("a href=x", 100_000),
        ("ul><li", 50_000),
        ("blockquote", 100_000),
        ("table><tr><td", 50_000),
        ("svg", 100_000),
        ("section", 100_000),
    ] {
        let name = tag.split(' ').next().unwrap();
        for closes in [false, true] {
            let end = if closes { format!("</{name}>").repeat(count) } else { String::new() };
            let page = format!(
                "<html><body><p>above</p>{}deep{end}<p>below</p>",
                format!("<{tag}>").repeat(count)
            );
            let (output, report) = filter_slice(&program(Content::new()), page.as_bytes()).unwrap();
            let output = String::from_utf8(output).unwrap();
            assert!(output.starts_with("above"), "{tag}");
            assert_eq!(report.content_from.map(ContentSource::as_str), Some("body"), "{tag}");
            if tag != "svg" {
                assert!(output.contains("deep") && output.contains("below"), "{tag}");
            }
            assert!(output.len() < 40 * count, "{tag}: {}", output.len());
        }
    }
}

/// End tags of elements that are not open, or far up, cost no more than others.
#[test]
fn misnesting_is_bounded() {
    for page in [
        format!("<p>text{}{}", "<b>".repeat(50_000), "</i>".repeat(100_000)),
        format!("<p>text{}", "<b><i></b></i>".repeat(30_000)),
        format!("<p>text{}", (0..30_000).map(|id| format!("<b id={id}><p>x")).collect::<String>()),
        format!("<p>text{}", "<table><b>x<tr>".repeat(30_000)),
        format!("<p>text<a {}>x", (0..50_000).map(|id| format!("a{id}=1 ")).collect::<String>()),
        format!("<p>text{}", "<!--".repeat(100_000)),
        format!("<p>text{}", "<![CDATA[".repeat(50_000)),
        format!("<p>text{}", "&".repeat(300_000)),
        format!("<p>text{}", "&#x".repeat(100_000)),
        format!("<p>text{}", "<".repeat(300_000)),
        format!("<p>text{}", "</".repeat(300_000)),
    ] {
        let (output, _) = filter_slice(&program(Content::new()), page.as_bytes()).unwrap();
        assert!(output.starts_with(b"text"), "{}", &page[..40]);
    }
}

/// The documented bound for a page of any length: 16 MiB, in this thread. The parser that searches for the article is bounded by
/// the size of its input.
const PEAK: u64 = 16 << 20;

#[test]
fn long_pages_are_streamed() {
    let paragraph =
        "<p>Tides rise and fall, and <a href='/x'>the almanac</a> says when, in a table.</p>\n";
    for (name, before, part) in [
        ("paragraphs", "<html><body><nav>menu</nav>", paragraph),
        ("one paragraph", "<p>", "word after word "),
        ("one word", "<p>", "xxxxxxxxxxxxxxxx"),
        ("code", "<pre>", "let x = 1;\n"),
        ("one line of code", "<pre>", "xxxxxxxxxxxxxxxx"),
        ("one row", "<table><tr>", "<td>x</td>"),
        ("rows", "<table>", "<tr><td>x<td>y"),
        ("items", "<p>text<ul>", "<li>item"),
        ("lists", "<p>text", "<ul><li>item"),
        ("one link", "<p>text<a href=/x>", "link text "),
        ("one tag", "<p>text<img alt='", "xxxxxxxxxxxxxxxx"),
        ("one comment", "<p>text<!--", "xxxxxxxxxxxxxxxx"),
        ("a script", "<p>text<script>", "x = x + 1;"),
        ("a title", "<p>text<title>", "title "),
        ("text", "", "plain text, not HTML at all. "),
    ] {
        // With full effort, the usual page has the documented length. All are longer than all limits.
        let is_documented = name == "paragraphs" && effort() >= TestEffort::Full;
        let size = if is_documented { 50 << 20 } else { 20 << 20 };
        let (report, sink, peak) = stream(Content::new(), before, part, size);
        assert!(peak < PEAK, "{name}: {peak}");
        assert!(report.original_bytes as usize > size - (1 << 20), "{name}");
        assert!(sink.bytes > 0, "{name}");
        let begins = String::from_utf8_lossy(&sink.begins);
        assert!(!begins.contains("menu") && !begins.contains('<'), "{name}: {begins}");
    }
}

/// With a limit, only the output is kept, and everything is counted.
#[test]
fn long_pages_are_cut() {
    let paragraph = "<p>Tides rise and fall, and the almanac says when.</p>\n";
    // The vocabulary is loaded once for the whole process, by the first test that counts.
    let short = paragraph.repeat(100);
    filter_slice(&program(Content::new().max_tokens(100)), short.as_bytes()).unwrap();
    let (report, sink, peak) = stream(Content::new().max_tokens(100), "<body>", paragraph, 8 << 20);
    assert!(peak < PEAK, "{peak}");
    assert!(sink.bytes < 600);
    assert!(report.budget_applied);
    let (original, result) = (report.tokens_original.unwrap(), report.tokens_result.unwrap());
    assert!(original > 1_000_000 && result < 120, "{original} {result}");
}
