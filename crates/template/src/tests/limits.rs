//! Tests of the limits: no template and no item takes much time, memory or stack.

use super::{TemplateErrorKind, Templates, kind, on_a_small_stack, render};

/// The deepest templates of each shape are parsed, rendered and dropped on a small stack.
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
        // The bodies of `else` count as well when a template calls itself.
        let (open, close) = ("{{if .z}}{{else}}".repeat(39), "{{end}}".repeat(39));
        let itself = format!(
            "{{{{define \"a\"}}}}{open}{{{{template \"a\" .}}}}{close}{{{{end}}}}{{{{template \"a\" .}}}}"
        );
        let error = render(&itself, "{}").unwrap_err();
        assert!(error.to_string().contains("run inside each other"), "{error}");
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

/// Without a limit each would run for ages, or take all memory or the stack.
#[test]
fn work_is_bounded() {
    on_a_small_stack(|| {
        let list = format!(r#"{{"l":[{}1]}}"#, "1,".repeat(20_000));
        let long = format!(
            r#"{{"s":"{0}y","t":"{0}z","l":[{1}1]}}"#,
            "x".repeat(100_000),
            "1,".repeat(20_000)
        );
        let variables: String = (0..3_000).map(|at| format!("{{{{$a{at} := 1}}}}")).collect();
        let variables = format!(
            "{{{{define \"r\"}}}}{variables}{{{{template \"r\"}}}}{{{{end}}}}{{{{template \"r\"}}}}"
        );
        let cases: [(&str, &str); 14] = [
            ("{{range 1000000000}}{{end}}", "{}"),
            ("{{range 10000}}{{range 10000}}{{range 10000}}{{end}}{{end}}{{end}}", "{}"),
            ("{{range .l}}{{range $.l}}{{range $.l}}{{end}}{{end}}{{end}}", &list),
            ("{{range .l}}{{if eq $.s $.t}}{{end}}{{end}}", &long),
            ("{{range .l}}{{if lt $.s $.t}}{{end}}{{end}}", &long),
            ("{{range .l}}{{if print $.l}}{{end}}{{end}}", &list),
            ("{{range .l}}{{if printf \"%d\" $.l}}{{end}}{{end}}", &list),
            ("{{range .l}}{{$x := index $ $.s}}{{end}}", &long),
            (&variables, "{}"),
            ("{{$s := \"xxxxxxxx\"}}{{range 60}}{{$s = print $s $s}}{{end}}", "{}"),
            ("{{define \"r\"}}{{template \"r\" .}}{{end}}{{template \"r\" .}}", "{}"),
            ("{{define \"r\"}}{{range 2}}{{template \"r\"}}{{end}}{{end}}{{template \"r\"}}", "{}"),
            (
                "{{define \"a\"}}{{template \"b\"}}{{end}}{{define \"b\"}}{{template \"a\"}}{{end}}{{template \"a\"}}",
                "{}",
            ),
            ("{{range 1000000}}{{range 1000000}}{{else}}{{end}}{{end}}", "{}"),
        ];
        for (template, item) in cases {
            let start = tamis_testkit::clock::cpu_time();
            let error = render(template, item).unwrap_err();
            let template: String = template.chars().take(80).collect();
            assert_eq!(error.kind(), TemplateErrorKind::Limit, "{template}: {error}");
            assert!(error.line().is_some(), "{template}: {error}");
            let took = tamis_testkit::clock::cpu_time() - start;
            assert!(took.as_secs() < 60, "{template}: {took:?}");
        }
        // A width that is too large prints nothing.
        assert!(render("{{printf \"%999999999d\" 1}}", "{}").is_ok_and(|text| text.len() < 100));
    });
}

/// Naming a value does not copy it, however large it is and however often it is named.
#[test]
fn names_cost_nothing() {
    let list = format!(r#"{{"l":[{}1]}}"#, "1,".repeat(20_000));
    let long = format!(r#"{{"s":"{}","l":[{}1]}}"#, "x".repeat(100_000), "1,".repeat(20_000));
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(10 << 20));
    let declarations: String = (0..3_000).map(|at| format!("{{{{$a{at} := .}}}}")).collect();
    let variables: String = (0..10).map(|at| format!("{{{{$v{at} := .a}}}}")).collect();
    let cases: [(&str, &str); 10] = [
        ("{{range .l}}{{if len $.l}}{{end}}{{end}}", &list),
        ("{{range .l}}{{if $.l}}{{end}}{{end}}", &list),
        ("{{range .l}}{{range $.l}}{{break}}{{end}}{{end}}", &list),
        ("{{range .l}}{{$x := $}}{{end}}", &long),
        ("{{range .l}}{{if and $.s false}}{{end}}{{end}}", &long),
        ("{{range .l}}{{if $.s | and false}}{{end}}{{end}}", &long),
        ("{{range .l}}{{if not (or false $.s)}}{{end}}{{end}}", &long),
        ("{{define \"d\"}}{{end}}{{range .l}}{{template \"d\" $}}{{end}}", &long),
        (&declarations, &long),
        (&variables, &large),
    ];
    for (template, item) in cases {
        let about: String = template.chars().take(60).collect();
        assert_eq!(render(template, item), Ok(String::new()), "{about}");
    }
}

#[test]
fn large_lists_are_little_work() {
    let list = format!(r#"{{"n":"x","l":[{}{{"a":1}}]}}"#, r#"{"a":1},"#.repeat(50_000));
    let text = render("{{range $i, $e := .l}}{{if $i}},{{end}}{{$e.a}}{{$.n}}{{end}}", &list);
    assert_eq!(text.unwrap().len(), 50_001 * 3 - 1);
}

#[test]
fn items_deep_and_large() {
    on_a_small_stack(|| {
        let nested =
            |depth: usize| format!(r#"{{"a":{}"x\"y"{}}}"#, "[".repeat(depth), "]".repeat(depth));
        // The object is one level, so 99 lists stay lists.
        let text = render("{{.a}}", &nested(99)).unwrap();
        assert_eq!(text, format!("{}x\"y{}", "[".repeat(99), "]".repeat(99)));
        let text = render("{{.a}}", &nested(100)).unwrap();
        assert_eq!(text, format!("{}[\"x\\\"y\"]{}", "[".repeat(99), "]".repeat(99)));
        // Members that are not named may have any depth.
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
    // Members that a template does not read are not kept.
    assert_eq!(render("x{{.b}}", &wide).unwrap(), "x<no value>");
    let long = format!(r#"{{"a":"{}"}}"#, "é".repeat(2_000_000));
    assert_eq!(render("{{len .a}}", &long).unwrap(), "4000000");
}

/// The texts that functions return are bounded together, not one by one.
#[test]
fn texts_are_bounded() {
    let long = format!(r#"{{"a":"{}","b":[{}1]}}"#, "<".repeat(10 << 20), "1,".repeat(200));
    let small = format!(r#"{{"a":"{}","b":[{}1]}}"#, "x".repeat(10), "1,".repeat(60));
    let arguments = format!("{{{{print{}}}}}", " .a".repeat(1000));
    let formats = format!("{{{{printf \"{}\" .a}}}}", "%[1]s".repeat(1000));
    for (template, item) in [
        ("{{$x := .a}}{{range .b}}{{$x = printf \"%s%s\" $x $x}}{{end}}", &small),
        ("{{$x := .a}}{{range .b}}{{$x = print $x $x $x}}{{end}}", &small),
        ("{{html .a}}", &long),
        ("{{html (html .a)}}", &long),
        ("{{js .a}}", &long),
        ("{{printf \"%q\" .a}}", &long),
        (&arguments, &long),
        (&formats, &long),
        ("{{.a}}{{.a}}{{.a}}{{.a}}", &long),
    ] {
        let about: String = template.chars().take(60).collect();
        assert_eq!(kind(template, item), TemplateErrorKind::Limit, "{about}");
    }
    // A loop may make many small texts.
    let list = format!(r#"{{"n":"a name","l":[{}1]}}"#, "1,".repeat(300_000));
    let text = render("{{range .l}}{{$x := $.n}}{{if len $x}}{{end}}{{end}}", &list);
    assert_eq!(text.unwrap(), "");
    assert_eq!(
        render("{{len .a}}{{if .a}}{{slice .a 0 2}}{{end}}", &long).unwrap(),
        "10485760&lt;".replace("&lt;", "<<")
    );
}

#[test]
fn templates_have_an_allowance_together() {
    let mut allowance = tamis_json::regex_budget::RegexBudget::new();
    let template = "{{.a}}".repeat(3000);
    let mut compiled = 0;
    let error = loop {
        match Templates::compile_within(None, &template, None, &mut allowance) {
            Ok(_) => compiled += 1,
            Err(error) => break error,
        }
    };
    assert!((30..90).contains(&compiled), "{compiled}");
    assert_eq!((error.kind(), error.line()), (TemplateErrorKind::Limit, Some(1)));
    assert!(allowance.is_spent());
    // Text takes little memory.
    let text = "x".repeat(64 << 10);
    let mut allowance = tamis_json::regex_budget::RegexBudget::new();
    for _ in 0..100 {
        Templates::compile_within(None, &text, None, &mut allowance).unwrap();
    }
}
