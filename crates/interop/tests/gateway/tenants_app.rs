//! The example with tenants: their rules, the replacement of rules, and the figures.

use std::sync::Arc;

use axum::Router;
use hyper::{Method, StatusCode};

use crate::servers::{Http, Place, Seen, Threads, ask, both, get, request};
use crate::tenants::{Tenants, app, metrics};

const RULES: &str = "version: 1
filters:
  acme: {exclude: [ssn], root: object}
  globex: {select: [id], root: object}
";

async fn serve(threads: Threads, router: Router) -> Place {
    Place::run(threads, async move |listener, stop| {
        let stop = async {
            let _ = stop.await;
        };
        axum::serve(listener, router).with_graceful_shutdown(stop).await.unwrap();
    })
    .await
}

/// Sends a request with headers.
async fn ask_as(http: Http, place: &Place, headers: &[(&'static str, &str)]) -> Seen {
    let mut asked = request(Method::GET, place.address, "/user");
    for (name, value) in headers {
        asked.headers_mut().insert(*name, value.parse().unwrap());
    }
    ask(&http.client(), asked).await
}

#[test]
fn each_tenant_has_its_rules() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tenants.yaml");
    std::fs::write(&file, RULES).unwrap();
    both(async |threads| {
        let tenants = Arc::new(Tenants::load(&file).unwrap());
        let app = serve(threads, app(&tenants)).await;
        for http in Http::ALL {
            for (tenant, body) in [("acme", r#"{"id":1,"name":"Ann"}"#), ("globex", r#"{"id":1}"#)]
            {
                let seen = ask_as(http, &app, &[("x-tenant", tenant)]).await;
                assert_eq!((seen.status, seen.text()), (StatusCode::OK, body));
                assert_eq!(seen.field("vary"), Some("x-tenant"));
            }
            for headers in [&[("x-tenant", "nobody")][..], &[]] {
                let seen = ask_as(http, &app, headers).await;
                assert_eq!(seen.status, StatusCode::FORBIDDEN);
                assert!(!seen.text().contains("078"), "{}", seen.text());
                // A cache must not send it to another tenant either.
                assert_eq!(seen.field("vary"), Some("x-tenant"));
            }
            assert_eq!(get(http, app.address, "/health").await.text(), "ok");
        }
        let figures = serve(threads, metrics(&tenants)).await;
        let page = get(Http::One, figures.address, "/metrics").await;
        for line in [
            r#"responses_total{tenant="acme",outcome="filtered"} 2"#,
            r#"responses_total{tenant="globex",outcome="filtered"} 2"#,
            r#"responses_total{tenant="unknown",outcome="refused"} 4"#,
            r#"response_bytes_total{tenant="acme",stage="in"} 92"#,
            r#"response_bytes_total{tenant="acme",stage="out"} 42"#,
        ] {
            assert!(page.text().lines().any(|found| found == line), "{line}\n{}", page.text());
        }
    });
}

#[test]
fn new_rules_are_checked_and_end_what_was_cached() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tenants.yaml");
    both(async |threads| {
        std::fs::write(&file, RULES).unwrap();
        let tenants = Arc::new(Tenants::load(&file).unwrap());
        let app = serve(threads, app(&tenants)).await;
        let first = ask_as(Http::One, &app, &[("x-tenant", "acme")]).await;
        let tag = first.field("etag").unwrap().to_owned();
        let known = [("x-tenant", "acme"), ("if-none-match", tag.as_str())];
        assert_eq!(ask_as(Http::One, &app, &known).await.status, StatusCode::NOT_MODIFIED);
        assert!(!tenants.reload().unwrap());

        std::fs::write(&file, RULES.replace("[ssn]", "[ssn, nmae")).unwrap();
        let why = tenants.reload().unwrap_err().to_string();
        assert!(why.contains("tenants.yaml:"), "{why}");
        assert_eq!(ask_as(Http::One, &app, &known).await.status, StatusCode::NOT_MODIFIED);

        std::fs::write(&file, RULES.replace("[ssn]", "[ssn, name]")).unwrap();
        assert!(tenants.reload().unwrap());
        let stricter = ask_as(Http::One, &app, &known).await;
        assert_eq!((stricter.status, stricter.text()), (StatusCode::OK, r#"{"id":1}"#));
        assert_ne!(stricter.field("etag"), Some(tag.as_str()));
    });
}
