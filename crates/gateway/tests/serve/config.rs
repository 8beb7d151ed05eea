//! A wrong `gateway.yaml` points at the place.

use std::path::Path;

use tamis_mcp::gateway_yaml::GatewayConfig;

#[test]
fn errors_have_a_place() {
    for (yaml, line, column, part) in [
        ("version: 2\ndefault: pass\n", 1, 10, "expected `version: 1`, not 2"),
        ("version: 1\ndefault: open\n", 2, 10, "`pass`, `refuse` or a status"),
        ("version: 1\ndefault: 200\n", 2, 10, "`pass`, `refuse` or a status"),
        ("version: 1\ndefault: refuse\nrouts: []\n", 3, 1, "routs"),
        ("version: 1\ndefault: refuse\nlisten: here\n", 3, 9, "expected an address"),
        (
            "version: 1\ndefault: refuse\nroutes:\n- when: {path: a}\n  action: pass\n",
            4,
            16,
            "begins with `/`",
        ),
        (
            "version: 1\ndefault: refuse\nroutes:\n- when: {status: 9xx}\n  action: pass\n",
            4,
            18,
            "2xx",
        ),
        ("version: 1\ndefault: refuse\nroutes:\n- when: {path: /a}\n", 4, 3, "exactly one of"),
        ("version: 1\ndefault: refuse\nroutes:\n- spec: {slect: [a]}\n", 4, 10, "slect"),
        (
            "version: 1\ndefault: refuse\nroutes:\n- tool: github.list-issue\n",
            4,
            9,
            "github.list-issues",
        ),
        ("version: 1\ndefault: refuse\nmanifests: [none.yaml]\n", 3, 13, "none.yaml"),
        (
            "version: 1\ndefault: refuse\nroutes:\n- when: {status: 200}\n  mcp: {}\n",
            5,
            8,
            "cannot have",
        ),
        ("version: 1\ndefault: refuse\nroutes:\n- mcp: {service: nobody}\n", 4, 8, "nobody"),
    ] {
        let error = GatewayConfig::parse(Path::new("gateway.yaml"), yaml).unwrap_err();
        let problem = &error.problems()[0];
        assert!(problem.message().contains(part), "{error}");
        assert_eq!((problem.line(), problem.column()), (line, column), "{error}");
        assert!(error.to_string().starts_with("gateway.yaml:"), "{error}");
    }
}

#[test]
fn a_default_must_be_written() {
    let error = GatewayConfig::parse(Path::new("g"), "version: 1\n").unwrap_err();
    assert!(error.to_string().contains("default"), "{error}");
}

/// The part of a file after its first lines, which are `version` and `default`, with the place and the message.
const CASES: &[(&str, usize, usize, &str)] = &[
    // Specs that do not compile: at the refused text, or else at its key.
    (
        "routes:\n- spec:\n    root: object\n    exclude: [b, 'a[']\n",
        6,
        21,
        "exclude: expected an index",
    ),
    (
        "routes:\n- spec:\n    select: {x: 'b..c'}\n",
        5,
        20,
        "select: a path cannot search at every depth",
    ),
    (
        "routes:\n- spec:\n    max_items: 2\n    retain: ['*']\n",
        6,
        15,
        "retain: a JSON Pointer starts with `/`",
    ),
    // Values inside maps, at the value.
    ("store:\n  at: memory\n  max_age: zz\n", 5, 12, "`max_age` must be a duration"),
    (
        "store:\n  at: memory\n  max_agee: 1h\n",
        5,
        3,
        "unknown key `max_agee`; did you mean `max_age`?",
    ),
    ("store: {at: memory, max_entry: 2M, max_total: 1M}\n", 3, 8, "`max_entry` must not be more"),
    (
        "pool:\n  memory: 64k\n  spill: x\n",
        5,
        10,
        "`spill` must be a number of bytes, such as 65536, 64k, 256M or 4G, not the text \"x\"",
    ),
    ("routes:\n- when:\n    path: [/a, b]\n  action: pass\n", 5, 16, "begins with `/`"),
    (
        "routes:\n- when:\n    status: [200, 9xx]\n  action: pass\n",
        5,
        19,
        "each entry of `status` must be a status such as 200, or a class such as 2xx, not the text \"9xx\"",
    ),
    (
        "routes:\n- when:\n    header: {x-count: 1}\n    path: [/a, b]\n  action: pass\n",
        6,
        16,
        "begins with `/`",
    ),
    (
        "routes:\n- action: 399\n",
        4,
        11,
        "`action` must be `pass`, `refuse` or a status from 400 to 599, not 399",
    ),
    (
        "routes:\n- {when: {pth: /a}, action: pass}\n",
        4,
        11,
        "unknown key `pth`; did you mean `path`?",
    ),
    ("recall: {listen: '127.0.0.1:1'}\n", 3, 1, "`recall` is missing the key `target`"),
    // In the terms of the file, not of the parser.
    ("default: pass\n", 3, 1, "duplicate key `default`, first in line 2; remove one of them"),
    (
        "drain_seconds: soon\n",
        3,
        16,
        "`drain_seconds` must be a whole number of at least 0, such as 25, not the text \"soon\"",
    ),
    (
        "drain_seconds: -1\n",
        3,
        16,
        "`drain_seconds` must be a whole number of at least 0, such as 25, not -1",
    ),
    ("manifests: tamis.yaml\n", 3, 12, "`manifests` must be a list, not the text \"tamis.yaml\""),
    ("routes:\n- mcp: {profile: standrd}\n", 4, 18, "`standard`"),
    ("routes:\n- mcp: standard\n", 4, 8, "`mcp` must be a map, not the text \"standard\""),
    ("routes:\n- recall: results\n", 4, 11, "begins with `/`, not `results`"),
    ("routes:\n- recall: /results/**\n", 4, 11, "does not end with `**`, not `/results/**`"),
    ("---\nversion: 1\n", 3, 1, "a second document begins"),
    ("listen: *here\n", 3, 9, "alias references unknown anchor"),
    // Accepted once, but without a sensible meaning.
    ("routes:\n- when: {path: []}\n  action: pass\n", 4, 16, "at least one value"),
    ("routes:\n- when: {method: []}\n  action: pass\n", 4, 18, "at least one value"),
    ("routes:\n- when: {media_type: []}\n  action: pass\n", 4, 22, "at least one value"),
    ("routes:\n- when: {status: []}\n  action: pass\n", 4, 18, "at least one value"),
    ("idle_seconds: 0\n", 3, 15, "at least 1 second"),
    (
        "routes:\n- {name: a, when: {path: /a}, action: pass}\n- {name: a, when: {path: /b}, action: pass}\n",
        5,
        10,
        "the name `a` is already used in line 4",
    ),
    (
        "routes:\n- action: pass\n- {when: {path: /b}, action: refuse}\n",
        5,
        3,
        "never reached: `route 1` in line 4 matches all requests",
    ),
    (
        "routes:\n- {when: {path: '/**'}, action: pass}\n- {when: {path: /b}, action: refuse}\n",
        5,
        3,
        "never reached",
    ),
    (
        "routes:\n- {name: broken, when: {status: 5xx}, action: refuse}\n- {when: {path: /mcp}, mcp: {}}\n",
        5,
        3,
        "must be before routes with `status` or `media_type` that match the same requests: `broken` in line 4",
    ),
    (
        "routes:\n- {when: {path: '/api/**', status: 5xx}, action: refuse}\n- {when: {path: /api/mcp}, mcp: {}}\n",
        5,
        3,
        "must be before",
    ),
];

#[test]
fn errors_are_in_the_terms_of_the_file() {
    let mut wrong = Vec::new();
    for (text, line, column, part) in CASES {
        let yaml = format!("version: 1\ndefault: refuse\n{text}");
        match GatewayConfig::parse(Path::new("gateway.yaml"), &yaml) {
            Ok(_) => wrong.push(format!("accepted: {text}")),
            Err(error) => {
                let problem = &error.problems()[0];
                let place = (problem.line(), problem.column());
                if place != (*line, *column) || !problem.message().contains(part) {
                    wrong.push(format!("expected {line}:{column}: {part}\n{error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn routes_that_can_be_reached_are_accepted() {
    for routes in [
        // Another path, method or tenant.
        "- {when: {path: /a, status: 5xx}, action: refuse}\n- {when: {path: /mcp}, mcp: {}}\n",
        "- {when: {method: GET, status: 5xx}, action: refuse}\n- {when: {method: POST, path: /mcp}, mcp: {}}\n",
        "- {when: {header: {x-t: a}, status: 5xx}, action: refuse}\n- {when: {header: {x-t: b}}, mcp: {}}\n",
        "- {when: {path: /mcp}, mcp: {}}\n- {when: {status: 5xx}, action: refuse}\n",
        "- {when: {status: 5xx}, action: refuse}\n- {action: pass}\n",
        "- {when: {path: '/a/**'}, action: pass}\n- {when: {path: /a/b}, action: refuse}\n",
    ] {
        let yaml = format!("version: 1\ndefault: refuse\nroutes:\n{routes}");
        GatewayConfig::parse(Path::new("gateway.yaml"), &yaml).unwrap();
    }
}

/// All routes that are allowed can be written, and may share a spec.
#[test]
fn many_routes_are_accepted() {
    let mut yaml = "\u{feff}version: 1\ndefault: refuse\nroutes:\n".to_owned();
    for number in 0..10_000 {
        yaml.push_str(&format!(
            "- {{name: r{number}, when: {{method: GET, path: /a/{number}, header: {{x-t: t}}, status: 2xx}}, action: pass}}\n"
        ));
    }
    let config = GatewayConfig::parse(Path::new("gateway.yaml"), &yaml).unwrap();
    assert_eq!(config.routes().len(), 10_000);

    let mut yaml = "version: 1\ndefault: refuse\nroutes:\n".to_owned();
    for number in 0..200 {
        let spec = if number == 0 { "&s {root: object, exclude: [ssn]}" } else { "*s" };
        yaml.push_str(&format!("- {{when: {{path: /a/{number}}}, spec: {spec}}}\n"));
    }
    let config = GatewayConfig::parse(Path::new("gateway.yaml"), &yaml).unwrap();
    assert_eq!(config.routes().len(), 200);
}

/// A plain number is a text where a text is expected, as it is spelled.
#[test]
fn numbers_keep_their_spelling() {
    for (written, name) in [
        ("1.10", "1.10"),
        ("0x1F", "0x1F"),
        ("1e3", "1e3"),
        ("-0", "-0"),
        ("007", "007"),
        ("true", "true"),
        ("&anchor 2.50", "2.50"),
        ("'3.0'", "3.0"),
        ("1.10  # a comment", "1.10"),
    ] {
        let yaml = format!(
            "version: 1\ndefault: refuse\nroutes:\n- when: {{path: /é}}\n  name: {written}\n  action: pass\n"
        );
        let config = GatewayConfig::parse(Path::new("gateway.yaml"), &yaml).unwrap();
        assert_eq!(config.routes()[0].name(), name, "{written}");
    }
}

/// A quoted whole number or boolean is one where one is expected.
#[test]
fn quoted_numbers_and_booleans_are_read() {
    let yaml = "version: '1'\ndefault: refuse\ndrain_seconds: \"10\"\nroutes:\n- spec: {max_items: \"3\", drop_nulls: 'true'}\n";
    let config = GatewayConfig::parse(Path::new("gateway.yaml"), yaml).unwrap();
    assert_eq!(config.drain().as_secs(), 10);
    let yaml = "version: 1\ndefault: refuse\ndrain_seconds: ten\n";
    let error = GatewayConfig::parse(Path::new("gateway.yaml"), yaml).unwrap_err();
    let problem = &error.problems()[0];
    assert_eq!((problem.line(), problem.column()), (3, 16), "{error}");
}

#[test]
fn files_are_recognised_by_their_keys_or_their_name() {
    for (name, text, expected) in [
        ("g.yaml", "version: 1\ndefault: pass\n", true),
        ("g.yaml", "  version: 1\n  routes: []\n", true),
        ("g.json", r#"{"version": 1, "default": "pass"}"#, true),
        ("g.json", "{\n  \"routes\": []\n}", true),
        ("g.yaml", "version: 1\nroutes: [\n", true),
        ("a/gateway.yaml", "version: 1\nrouts: []\n", true),
        ("gateway.yml", "", true),
        ("gateway.yaml", "version: 1\nfilters: {}\n", false),
        ("tamis.yaml", "version: 1\nfilters: {t: {select: {default: a}}}\n", false),
        ("tool.json", r#"{"inputSchema": {"default": 1, "routes": 2}}"#, false),
    ] {
        assert_eq!(GatewayConfig::recognises(Path::new(name), text), expected, "{name}: {text}");
    }
}
