//! Tests of the limits, the places of errors and the names that are read. `corpus/templates` tests what templates mean.

mod limits;
mod random;

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

/// Runs a test on the stack that a thread has by default.
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
    }
    let error = Templates::compile(None, "x", Some("{{")).unwrap_err();
    assert_eq!((error.part(), error.kind()), (TemplatePart::Footer, TemplateErrorKind::Parse));
    assert_eq!(error.to_string(), "footer:1:1: unclosed action");
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

/// Only the members of an item that its template can name are kept.
#[test]
fn members_that_a_template_reads() {
    use super::parse::parse;
    use super::reads::{Reads, names_used};

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
        let reads = names_used(&parse(template).unwrap()).reads;
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

#[test]
fn functions_that_do_not_exist_are_refused() {
    for name in ["call", "upper", "env", "And", "__print"] {
        assert_eq!(kind(&format!("{{{{{name} 1}}}}"), "{}"), TemplateErrorKind::Parse, "{name}");
    }
}

/// `$` and members of a `define` are those of its argument, not of the item.
#[test]
fn bodies_read_their_argument() {
    use super::parse::parse;
    use super::reads::{Reads, names_used};

    let template = "{{define \"t\"}}{{$.b}}{{with .c}}{{$.d}}{{end}}{{end}}{{template \"t\" .a}}";
    let reads = names_used(&parse(template).unwrap()).reads;
    assert_eq!(reads, Reads::Named([String::from("a")].into()));
    assert_eq!(render(template, r#"{"a":{"b":1,"c":{},"d":2},"b":3}"#).unwrap(), "1");
}
