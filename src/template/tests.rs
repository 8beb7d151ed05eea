//! What holds for every template and every item: limits, places of errors, no panic, no work without bound. What templates
//! mean is in `corpus/templates`.

use std::time::{Duration, Instant};

use super::rewrite::rewrite;
use super::{TemplateError, TemplateErrorKind, TemplatePart, Templates, Totals};

const ROOM: usize = 1 << 20;

fn compile(template: &str) -> Result<Templates, TemplateError> {
    Templates::compile(None, template, None)
}

fn render(template: &str, item: &str) -> Result<String, TemplateError> {
    let mut out = Vec::new();
    compile(template)?.item(item.as_bytes(), &Totals::default(), ROOM, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn kind(template: &str, item: &str) -> TemplateErrorKind {
    render(template, item).unwrap_err().kind()
}

/// The stack that a thread has by default; less than what is left of it in a test.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn counts() {
    let templates = Templates::compile(
        Some("{{.Total}} {{.Count}} {{.Original}} {{.Omitted}} {{.Remaining}}"),
        "{{.id}}",
        Some("{{.Total}} {{.Count}} {{.Original}} {{.Omitted}} {{.Remaining}}"),
    )
    .unwrap();
    let totals = Totals::new(2, 5);
    let mut out = Vec::new();
    assert!(templates.header(&totals, ROOM, &mut out).unwrap());
    out.push(b'|');
    assert!(templates.footer(&totals, ROOM, &mut out).unwrap());
    assert_eq!(String::from_utf8(out).unwrap(), "2 2 5 3 <no value>|2 2 5 3 0");
    assert!(!templates.item_needs_totals());

    let templates = Templates::compile(None, "{{.id}}", None).unwrap();
    let mut out = Vec::new();
    assert!(!templates.header(&totals, ROOM, &mut out).unwrap());
    assert!(!templates.footer(&totals, ROOM, &mut out).unwrap());
    assert!(out.is_empty());
}

#[test]
fn an_item_sees_counts_only_where_it_names_them() {
    let cases = [
        ("{{.Original}}/{{.Omitted}}", r#"{"a":1}"#, "5/3", true),
        ("{{$.Original}}", r#"{"Original":"own"}"#, "own", true),
        (r#"{{index . "Omitted"}}"#, "{}", "3", true),
        ("{{.}}", r#"{"a":1}"#, "map[a:1]", false),
        ("{{.Total}}", "{}", "<no value>", false),
        ("Original", "{}", "Original", false),
    ];
    for (template, item, expected, needs) in cases {
        let templates = compile(template).unwrap();
        assert_eq!(templates.item_needs_totals(), needs, "{template}");
        let mut out = Vec::new();
        templates.item(item.as_bytes(), &Totals::new(2, 5), ROOM, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{template}");
    }
}

#[test]
fn only_objects_are_rendered() {
    for item in ["1", "null", "\"{}\"", " [1] ", "[{}]", "true", ""] {
        let mut out = Vec::new();
        let rendered =
            compile("x").unwrap().item(item.as_bytes(), &Totals::default(), 9, &mut out).unwrap();
        assert!(!rendered && out.is_empty(), "{item}");
    }
    assert_eq!(render("x", " \n{}").unwrap(), "x");
}

#[test]
fn errors_have_their_place() {
    let cases = [
        ("{{.a}} {{nothere}}", 1, 10, "no function"),
        ("a\nb {{if}}x{{end}}", 2, 7, "missing value"),
        ("é {{.a | nothere}}", 1, 10, "no function"),
        ("{{if .a}}\n{{with .b}}", 2, 3, "no {{end}}"),
        ("{{with .q}}{{else with .w}}{{else with nothere}}{{end}}", 1, 40, "no function"),
        ("a{{end}}", 1, 4, "unexpected {{end}}"),
        ("{{\"abc}}", 1, 3, "unterminated"),
        ("{{.a", 1, 1, "unclosed action"),
        ("x {{$nope}}", 1, 5, "undefined variable"),
        ("{{$x := .a}}{{$x}}\n  {{ $y }}", 2, 6, "undefined variable"),
        // While it is rendered.
        ("{{with .q}}{{else with .w}}{{else}}{{len 1}}{{end}}", 1, 38, "len"),
        ("{{print .a | printf \"%s\"}}\nx {{index .a 7}}", 2, 5, "index"),
        ("{{define \"d\"}}\n{{lt 1 \"x\"}}{{end}}{{template \"d\"}}", 2, 3, "incompatible"),
        ("{{/* c */}}{{`a\nb`}}\n{{.a.b}}", 3, 3, "fields"),
    ];
    for (template, line, column, message) in cases {
        let error = render(template, r#"{"a":1}"#).unwrap_err();
        assert_eq!(
            (error.line(), error.column()),
            (Some(line), Some(column)),
            "{template} {error}"
        );
        assert!(error.message().contains(message), "{template}: {error}");
        assert!(!error.to_string().contains(['\n']), "{template}: {error}");
        assert!(!error.to_string().contains("__tamis"), "{template}: {error}");
    }
    let error = Templates::compile(None, "x", Some("{{")).unwrap_err();
    assert_eq!((error.part(), error.kind()), (TemplatePart::Footer, TemplateErrorKind::Parse));
    assert_eq!(error.to_string(), "footer:1:1: unclosed action");
}

#[test]
fn the_functions_of_the_rewriting_are_not_for_templates() {
    for name in ["__tamis_meter", "__tamis_condition", "__tamis_float", "call", "upper", "env"] {
        assert_eq!(kind(&format!("{{{{{name} 1}}}}"), "{}"), TemplateErrorKind::Parse, "{name}");
    }
}

#[test]
fn text_ends_where_there_is_no_room() {
    let templates = compile("{{.a}}bc").unwrap();
    let item = br#"{"a":"xyz"}"#;
    let mut out = b"kept".to_vec();
    templates.item(item, &Totals::default(), 5, &mut out).unwrap();
    assert_eq!(out, b"keptxyzbc");
    for room in 0..5 {
        let mut out = b"kept".to_vec();
        let error = templates.item(item, &Totals::default(), room, &mut out).unwrap_err();
        assert_eq!(error.kind(), TemplateErrorKind::Limit, "{error}");
        assert_eq!(out, b"kept");
    }
    // A failure later on takes back what was written, too.
    let mut out = b"kept".to_vec();
    let templates = compile("{{.a}}{{index .b 1}}").unwrap();
    assert!(templates.item(item, &Totals::default(), ROOM, &mut out).is_err());
    assert_eq!(out, b"kept");
}

/// As deep as allowed, in every way: parsed, rendered and dropped on a small stack.
#[test]
fn nesting_is_bounded() {
    on_a_small_stack(|| {
        let shapes: [(&str, &str, &str); 9] = [
            ("{{if 1}}", "x", "{{end}}"),
            ("{{with 1}}", "x", "{{end}}"),
            ("{{range 1}}", "x", "{{end}}"),
            ("{{range $i, $e := $.l}}", "x", "{{end}}"),
            ("{{if 0}}{{else}}{{if 1}}", "x", "{{end}}{{end}}"),
            ("{{block \"b\" .}}", "x", "{{end}}"),
            ("{{if 0}}", "{{else if 0}}", ""),
            ("{{with 0}}", "{{else with 0}}", ""),
            ("", "", ""),
        ];
        for (open, middle, close) in shapes {
            let build = |levels: usize| match (open, close) {
                ("", _) => format!("{{{{{}1{}}}}}", "(".repeat(levels), ")".repeat(levels)),
                (_, "") => format!("{open}{}{{{{end}}}}", middle.repeat(levels - 1)),
                _ => format!("{}{middle}{}", open.repeat(levels), close.repeat(levels)),
            };
            // A block within itself is another definition of it; a doubled shape has half the room.
            let most = if open.contains("else") { 20 } else { 40 };
            if !open.contains("block") {
                let result = render(&build(most), r#"{"l":[1]}"#);
                assert!(result.is_ok(), "{open} {result:?}");
            }
            for levels in [most + 1, 1_000, 60_000 / (open.len() + middle.len() + close.len() + 2)]
            {
                assert_eq!(kind(&build(levels), "{}"), TemplateErrorKind::Limit, "{open} {levels}");
            }
        }
        let chain = format!("{{{{print {} 1}}}}", "(print 1) ".repeat(3_000));
        assert!(render(&chain, "{}").is_ok());
        let pipes = format!("{{{{1{}}}}}", " | print".repeat(3_000));
        assert_eq!(render(&pipes, "{}").unwrap(), "1");
        let fields = format!("{{{{.a{}}}}}", ".b".repeat(20_000));
        assert_eq!(render(&fields, "{}").unwrap(), "<no value>");
    });
}

#[test]
fn a_template_is_not_large() {
    for text in ["x", "{{", "}}", "(", "\"", "{{.a}}", "{{if .a}}", "{{/*", "{{`", "é"] {
        let template = text.repeat((1 << 20) / text.len());
        assert_eq!(kind(&template, "{}"), TemplateErrorKind::Limit, "{text}");
    }
    assert_eq!(render(&"x".repeat(64 << 10), "{}").unwrap().len(), 64 << 10);
}

/// Each would run for ages, or take all memory, or the stack.
#[test]
fn work_is_bounded() {
    on_a_small_stack(|| {
        let list = format!(r#"{{"l":[{}1]}}"#, "1,".repeat(20_000));
        let long = format!(r#"{{"s":"{}","l":[{}1]}}"#, "x".repeat(100_000), "1,".repeat(20_000));
        let declarations: String = (0..3_000).map(|at| format!("{{{{$a{at} := .}}}}")).collect();
        let cases: [(&str, &str); 16] = [
            ("{{range 1000000000}}{{end}}", "{}"),
            ("{{range 10000}}{{range 10000}}{{range 10000}}{{end}}{{end}}{{end}}", "{}"),
            ("{{range .l}}{{range $.l}}{{range $.l}}{{end}}{{end}}{{end}}", &list),
            ("{{range .l}}{{if len $.l}}{{end}}{{end}}", &list),
            ("{{range .l}}{{if $.l}}{{end}}{{end}}", &list),
            ("{{range .l}}{{range $.l}}{{break}}{{end}}{{end}}", &list),
            ("{{range .l}}{{$x := $}}{{end}}", &long),
            ("{{range .l}}{{if and $.s false}}{{end}}{{end}}", &long),
            ("{{range .l}}{{if $.s | and false}}{{end}}{{end}}", &long),
            ("{{range .l}}{{if (or false $.s)}}{{end}}{{end}}", &long),
            ("{{define \"d\"}}{{end}}{{range .l}}{{template \"d\" $}}{{end}}", &long),
            (&declarations, &long),
            ("{{$s := \"xxxxxxxx\"}}{{range 60}}{{$s = print $s $s}}{{end}}", "{}"),
            ("{{define \"r\"}}{{template \"r\" .}}{{end}}{{template \"r\" .}}", "{}"),
            ("{{define \"r\"}}{{range 2}}{{template \"r\"}}{{end}}{{end}}{{template \"r\"}}", "{}"),
            (
                "{{define \"a\"}}{{template \"b\"}}{{end}}{{define \"b\"}}{{template \"a\"}}{{end}}{{template \"a\"}}",
                "{}",
            ),
        ];
        for (template, item) in cases {
            let start = Instant::now();
            let error = render(template, item).unwrap_err();
            let template: String = template.chars().take(80).collect();
            assert_eq!(error.kind(), TemplateErrorKind::Limit, "{template}: {error}");
            assert!(start.elapsed() < Duration::from_secs(60), "{template}: {:?}", start.elapsed());
        }
        // A width that a template asks for is no work.
        assert!(render("{{printf \"%999999999d\" 1}}", "{}").is_ok_and(|text| text.len() < 100));
    });
}

#[test]
fn large_lists_are_no_work_to_speak_of() {
    let list = format!(r#"{{"n":"x","l":[{}{{"a":1}}]}}"#, r#"{"a":1},"#.repeat(50_000));
    let text = render("{{range $i, $e := .l}}{{if $i}},{{end}}{{$e.a}}{{$.n}}{{end}}", &list);
    assert_eq!(text.unwrap().len(), 50_001 * 3 - 1);
}

#[test]
fn items_deep_and_large() {
    on_a_small_stack(|| {
        let nested =
            |depth: usize| format!(r#"{{"a":{}"x\"y"{}}}"#, "[".repeat(depth), "]".repeat(depth));
        // The object is one level; 99 lists are within what stays a list.
        let text = render("{{.a}}", &nested(99)).unwrap();
        assert_eq!(text, format!("{}x\"y{}", "[".repeat(99), "]".repeat(99)));
        let text = render("{{.a}}", &nested(100)).unwrap();
        assert_eq!(text, format!("{}[\"x\\\"y\"]{}", "[".repeat(99), "]".repeat(99)));
        // What is not named does no harm at any depth.
        for item in [nested(100_000), nested(3_000_000)] {
            assert!(render("{{.b}}{{len .a}}", &item).is_ok());
            assert!(
                render("{{$x := .}}{{print $x}}{{range .a}}{{.}}{{end}}{{eq .a 1}}", &item)
                    .is_err()
            );
        }
        let deep_objects = format!(r#"{}1{}"#, r#"{"a":"#.repeat(50_000), "}".repeat(50_000));
        assert!(render("{{.a.a.a.a}}", &deep_objects).is_ok());
    });
    let wide = format!(r#"{{"a":[{}1]}}"#, "1,".repeat(5_000_000));
    assert_eq!(kind("{{.a}}", &wide), TemplateErrorKind::Limit);
    // What a template does not read is not kept.
    assert_eq!(render("x{{.b}}", &wide).unwrap(), "x<no value>");
    let long = format!(r#"{{"a":"{}"}}"#, "é".repeat(2_000_000));
    assert_eq!(render("{{len .a}}", &long).unwrap(), "4000000");
}

/// Of an item only the members are kept that its template can name, wherever it names them.
#[test]
fn members_that_a_template_reads() {
    use super::reads::Reads;

    let cases: [(&str, Option<&[&str]>); 27] = [
        ("x", Some(&[])),
        ("{{.a}} {{.b.c.d}}", Some(&["a", "b"])),
        ("{{$.a}}", Some(&["a"])),
        ("{{(.a).b}} {{(index .c 0).d}}", Some(&["a", "c"])),
        ("{{len .a | printf \"%d\"}}", Some(&["a"])),
        ("{{range .a}}{{.}}{{.b}}{{end}}", Some(&["a"])),
        ("{{range $i, $e := .a}}{{$e.b}}{{$.c}}{{end}}", Some(&["a", "c"])),
        ("{{range .a}}{{else}}{{.b}}{{end}}", Some(&["a", "b"])),
        ("{{with .a}}{{.}}{{else with .b}}{{.}}{{else}}{{.c}}{{end}}", Some(&["a", "b", "c"])),
        ("{{with .a}}{{if .b}}{{.}}{{else if .c}}{{.d}}{{end}}{{end}}", Some(&["a"])),
        (
            "{{if .a}}{{.b}}{{else if .c}}{{.d}}{{else}}{{.e}}{{end}}",
            Some(&["a", "b", "c", "d", "e"]),
        ),
        ("{{define \"t\"}}{{.}}{{.b}}{{end}}{{template \"t\" .a}}", Some(&["a"])),
        ("{{define \"t\"}}{{end}}{{template \"t\"}}{{.a}}", Some(&["a"])),
        ("{{block \"t\" .a}}{{.}}{{end}}{{.b}}", Some(&["a", "b"])),
        ("{{$x := .a}}{{$x}}{{$x.b}}", Some(&["a"])),
        ("{{and .a (or .b .c)}}", Some(&["a", "b", "c"])),
        ("{{.}}", None),
        ("{{$}}", None),
        ("{{index . \"a\"}}", None),
        ("{{range .a}}{{$}}{{end}}", None),
        ("{{range .a}}{{else}}{{.}}{{end}}", None),
        ("{{with .a}}{{else with .}}{{end}}", None),
        ("{{with .a}}{{else}}{{if .b}}{{.}}{{end}}{{end}}", None),
        ("{{if .a}}{{.}}{{end}}", None),
        ("{{define \"t\"}}{{end}}{{template \"t\" .}}", None),
        ("{{$x := .}}{{$x.a}}", None),
        ("{{range $k, $v := .}}{{$k}}{{end}}", None),
    ];
    for (template, expected) in cases {
        let reads = rewrite(template).unwrap().reads;
        let expected = expected.map_or(Reads::All, |names| {
            Reads::Named(names.iter().map(|name| (*name).to_owned()).collect())
        });
        assert_eq!(reads, expected, "{template}");
    }
    let item = r#"{"\u0061":1,"a":[2],"b":{"a":3},"c":[[{"a":4}]]}"#;
    assert_eq!(render("{{.a}} {{.b.a}} {{.c}}", item).unwrap(), "[2] 3 [[map[a:4]]]");
    assert_eq!(render("{{range .c}}{{.}}{{$.b}}{{end}}", item).unwrap(), "[map[a:4]]map[a:3]");
    assert_eq!(render("{{.}}", item).unwrap(), "map[a:[2] b:map[a:3] c:[[map[a:4]]]]");
}

/// What variables and functions hold is bounded together, not value by value.
#[test]
fn copies_are_bounded() {
    let long = format!(r#"{{"a":"{}","b":[{}1]}}"#, "<".repeat(10 << 20), "1,".repeat(200));
    let small = format!(r#"{{"a":"{}","b":[{}1]}}"#, "x".repeat(10), "1,".repeat(60));
    let variables: String = (0..10).map(|at| format!("{{{{$v{at} := .a}}}}")).collect();
    let arguments = format!("{{{{print{}}}}}", " .a".repeat(1000));
    let formats = format!("{{{{printf \"{}\" .a}}}}", "%[1]s".repeat(1000));
    for (template, item) in [
        ("{{$x := .a}}{{range .b}}{{$x = printf \"%s%s\" $x $x}}{{end}}", &small),
        ("{{$x := .a}}{{range .b}}{{$x = print $x $x $x}}{{end}}", &small),
        ("{{html .a}}", &long),
        ("{{html (html .a)}}", &long),
        ("{{js .a}}", &long),
        ("{{printf \"%q\" .a}}", &long),
        (&variables, &long),
        (&arguments, &long),
        (&formats, &long),
        ("{{.a}}{{.a}}{{.a}}{{.a}}", &long),
    ] {
        let about: String = template.chars().take(60).collect();
        assert_eq!(kind(template, item), TemplateErrorKind::Limit, "{about}");
    }
    // Small ones are as many as a loop makes.
    let list = format!(r#"{{"n":"a name","l":[{}1]}}"#, "1,".repeat(300_000));
    let text = render("{{range .l}}{{$x := $.n}}{{if len $x}}{{end}}{{end}}", &list);
    assert_eq!(text.unwrap(), "");
    assert_eq!(
        render("{{len .a}}{{if .a}}{{slice .a 0 2}}{{end}}", &long).unwrap(),
        "10485760&lt;".replace("&lt;", "<<")
    );
}

#[test]
fn items_that_are_not_json() {
    let items: [&[u8]; 16] = [
        b"{",
        b"{\"a\"}",
        b"{\"a\":}",
        b"{\"a\":1,}",
        b"{\"a\":01}",
        b"{\"a\":1.}",
        b"{\"a\":-}",
        b"{\"a\":+1}",
        b"{\"a\":1e}",
        b"{\"a\":1e5e5}",
        b"{\"a\":\"\xff\"}",
        b"{\"a\":\"",
        b"{\"a\":\"\\",
        b"{\"a\":\"\\u12\"}",
        b"{\"a\":1}}",
        b"{\"a\":[}]}",
    ];
    for item in items {
        let mut out = Vec::new();
        let result = compile("{{.a}}").unwrap().item(item, &Totals::default(), ROOM, &mut out);
        let name = String::from_utf8_lossy(item);
        assert_eq!(result.unwrap_err().kind(), TemplateErrorKind::Data, "{name}");
    }
}

/// Every float prints as its shortest text, whatever its spelling; every integer as itself.
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

/// A generator without a seed of the day.
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

/// Neither the engine's parser nor its walk panics or hangs on what gets through to it.
#[test]
fn whatever_a_template_is_it_gives_text_or_an_error() {
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
                // Half of them well-formed outside, so that they get far.
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
                    assert!(
                        !error.message().contains("the template cannot be"),
                        "{template:?} {error}"
                    );
                    assert!(!error.message().contains("__tamis"), "{template:?} {error}");
                }
            }
        }
        assert!(rendered > 300 && failed > 300, "{rendered} {failed}");
    });
}

/// Nor does the reader of items, whatever they are.
#[test]
fn whatever_an_item_is_it_gives_text_or_an_error() {
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
        // What serde_json reads is read, but for what it refuses on purpose.
        if serde_json::from_slice::<serde_json::Value>(&item).is_ok() {
            assert!(result.is_ok(), "{:?} {result:?}", String::from_utf8_lossy(&item));
        }
    }
}

#[test]
fn what_the_engine_gets() {
    let cases = [
        ("{{.a}}", "{{.a | __tamis_meter}}"),
        ("{{- .a -}} x", "{{- .a | __tamis_meter -}} x"),
        ("{{if .a}}{{end}}", "{{if .a | __tamis_condition}}{{end}}"),
        ("{{if $x := .a}}{{end}}", "{{if $x := .a | __tamis_meter}}{{end}}"),
        (
            "{{with .a}}1{{else with .b}}2{{end -}} x",
            "{{with .a | __tamis_condition}}1{{else}}{{with .b | __tamis_condition}}2{{end}}{{end -}} x",
        ),
        ("{{(.a).b}}", "{{(.a | __tamis_meter).b | __tamis_meter}}"),
        (
            "{{and .a $x.b 1}}",
            "{{and (.a | __tamis_meter) ($x.b | __tamis_meter) 1 | __tamis_meter}}",
        ),
        ("{{.a | or 1}}", "{{.a  | __tamis_meter| or 1 | __tamis_meter}}"),
        (
            "{{1.0}} {{1.5}}",
            "{{(__tamis_float \"1e0\") | __tamis_meter}} {{1.5e0 | __tamis_meter}}",
        ),
        ("{{`\\`}}{{'a'}}", "{{\"\\x5c\" | __tamis_meter}}{{97 | __tamis_meter}}"),
        ("{{/* .a */}}{{template \"t\"}}", "{{/* .a */}}{{template \"t\"}}"),
    ];
    for (template, expected) in cases {
        assert_eq!(rewrite(template).unwrap().text, expected, "{template}");
    }
}

#[test]
fn templates_have_an_allowance_together() {
    let mut allowance = crate::regex_budget::RegexBudget::new();
    let template = "{{.a}}".repeat(3000);
    let mut compiled = 0;
    let error = loop {
        match Templates::compile_within(None, &template, None, &mut allowance) {
            Ok(_) => compiled += 1,
            Err(error) => break error,
        }
    };
    assert!((3..12).contains(&compiled), "{compiled}");
    assert_eq!((error.kind(), error.line()), (TemplateErrorKind::Limit, Some(1)));
    assert!(allowance.is_spent());
    // Text takes next to nothing.
    let text = "x".repeat(64 << 10);
    let mut allowance = crate::regex_budget::RegexBudget::new();
    for _ in 0..100 {
        Templates::compile_within(None, &text, None, &mut allowance).unwrap();
    }
}
