//! A wrong `gateway.yaml` points at the place.

use std::path::Path;

use tamis_gateway::routes::GatewayConfig;

#[test]
fn errors_have_a_place() {
    for (yaml, line, column, part) in [
        ("version: 2\ndefault: pass\n", 1, 10, "expected `version: 1`, not 2"),
        ("version: 1\ndefault: open\n", 2, 0, "`pass`, `refuse` or a status"),
        ("version: 1\ndefault: 200\n", 2, 0, "`pass`, `refuse` or a status"),
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
            0,
            "2xx",
        ),
        ("version: 1\ndefault: refuse\nroutes:\n- when: {path: /a}\n", 4, 3, "exactly one of"),
        ("version: 1\ndefault: refuse\nroutes:\n- spec: {slect: [a]}\n", 4, 0, "slect"),
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
        assert!(error.message().contains(part), "{error}");
        assert_eq!(error.line(), Some(line), "{error}");
        if column > 0 {
            assert_eq!(error.column(), Some(column), "{error}");
        }
        assert!(error.to_string().starts_with("gateway.yaml:"), "{error}");
    }
}

#[test]
fn a_default_must_be_written() {
    let error = GatewayConfig::parse(Path::new("g"), "version: 1\n").unwrap_err();
    assert!(error.message().contains("default"), "{error}");
}
