//! Tests with random templates, items and numbers.

use super::{ROOM, Totals, compile, on_a_small_stack, render};

/// A generator with a fixed seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

/// Every float prints as its shortest text, however it was spelled. Every integer prints as itself.
#[test]
fn numbers_are_not_rounded() {
    let mut random = Random(7);
    for _ in 0..3_000 {
        let bits = random.next();
        let value = f64::from_bits(bits);
        if !value.is_finite() || value == 0.0 {
            continue;
        }
        for spelled in [format!("{value:e}"), format!("{value:.17e}"), format!("{value:.30e}")] {
            let text = render("{{.x}}", &format!("{{\"x\":{spelled}}}")).unwrap();
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits, "{spelled} {text}");
        }
        for integer in [bits.to_string(), (bits as i64).to_string(), format!("-{bits}{bits}")] {
            assert_eq!(render("{{.x}}", &format!("{{\"x\":{integer}}}")).unwrap(), integer);
        }
    }
}

/// Neither the parser nor the evaluator panics or hangs.
#[test]
fn any_template_gives_text_or_an_error() {
    const PIECES: [&str; 74] = [
        "{{",
        "}}",
        "{{- ",
        " -}}",
        "if ",
        "else ",
        "else if ",
        "else with ",
        "{{else}}",
        "{{end}}",
        "end",
        "with ",
        "range ",
        "define ",
        "block ",
        "template ",
        "break",
        "continue",
        "{{break}}",
        "{{/* c */}}",
        "/*",
        "*/",
        ".",
        ".a",
        ".l",
        ".o.b",
        ".nope.x",
        "$",
        "$x",
        "$x := ",
        "$x = ",
        "$i, $e := ",
        "$.l",
        "(",
        ")",
        " | ",
        ",",
        " ",
        "\n",
        "\"s\"",
        "\"\\u00e9\\\\\"",
        "\"\\\\\\\"\"",
        "`r\\`",
        "\"",
        "`",
        "'a'",
        "'\\''",
        "1",
        "-1",
        "1.0",
        "1e6",
        "0x1p4",
        "007",
        "1_0",
        "9e999",
        "nil",
        "true",
        "and ",
        "or ",
        "not ",
        "len ",
        "index ",
        "slice ",
        "printf ",
        "\"%d %*s %[2]v\" ",
        "print ",
        "html ",
        "js ",
        "urlquery ",
        "eq ",
        "lt ",
        "é",
        "text",
        "\"d\"",
    ];
    const ITEM: &str = r#"{"a":1,"l":[1,"x",null,{"b":2}],"o":{"b":{"c":1.0}},"s":"é\"<"}"#;
    on_a_small_stack(|| {
        let mut random = Random(1);
        let mut rendered = 0;
        let mut failed = 0;
        for _ in 0..6_000 {
            let mut template = String::new();
            let blocks = ["{{range .l}}", "{{if .a}}", "{{with .o}}", "{{define \"d\"}}", ""];
            let block = blocks[random.below(blocks.len())];
            template.push_str(block);
            for _ in 0..=random.below(3) {
                // Most have their delimiters, so that they get far.
                let whole = random.below(3) > 0;
                template.push_str(if whole { "{{" } else { "" });
                for _ in 0..=random.below(6) {
                    template.push_str(PIECES[random.below(PIECES.len())]);
                }
                template.push_str(if whole { "}}" } else { "" });
            }
            template.push_str(if block.is_empty() { "" } else { "{{end}}" });
            match render(&template, ITEM) {
                Ok(_) => rendered += 1,
                Err(error) => {
                    failed += 1;
                    assert!(!error.message().is_empty(), "{template:?} {error}");
                }
            }
        }
        assert!(rendered > 300 && failed > 300, "{rendered} {failed}");
    });
}

/// The reader of items does not panic.
#[test]
fn any_item_gives_text_or_an_error() {
    const ITEM: &[u8] =
        br#"{"a":[1,-0,1.5e3,12345678901234567890123],"b":"x\ud83d\ude00\ud800\\\"","c":{"d":null,"e":[]}}"#;
    const BYTES: &[u8] = b"{}[]\",:\\u-0e.9 \xc3\xff\x00dDc";
    let templates = compile("{{.}}").unwrap();
    let mut random = Random(2);
    for _ in 0..20_000 {
        let mut item = ITEM.to_vec();
        for _ in 0..=random.below(4) {
            let at = 1 + random.below(item.len() - 1);
            match random.below(3) {
                0 => item[at] = BYTES[random.below(BYTES.len())],
                1 => item.insert(at, BYTES[random.below(BYTES.len())]),
                _ => item.truncate(at.max(2)),
            }
        }
        let mut out = Vec::new();
        let result = templates.item(&item, &Totals::default(), ROOM, &mut out);
        // A document that serde_json accepts is accepted here as well.
        if serde_json::from_slice::<serde_json::Value>(&item).is_ok() {
            assert!(result.is_ok(), "{:?} {result:?}", String::from_utf8_lossy(&item));
        }
    }
}
