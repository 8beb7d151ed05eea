//! Attacks the filters of a manifest as `tamis mcp` runs them: with results of tools.
//!
//! The library attacks the documents. This module attacks what is around them: texts that are not JSON, failed calls,
//! several blocks, and calls that ask for raw output.

use std::sync::Arc;

use tamis_insight::audit::PlantedDocument;
use tamis_manifest::{Manifest, ManifestEntry};
use tamis_mcp::rules::{Profile, Rules};
use tamis_mcp::spool::Spool;
use tamis_mcp::{Action, Exchange, Proxy, ProxyOptions, Route, Session};

use super::table::Row;

/// The most documents of one filter that are put into results.
const MAX_DOCUMENTS: usize = 60;

/// Results of a tool. `$OBJECT` is a document, `$TEXT` the same inside of a string, `$VALUE` the planted value.
const RESULTS: [(Part, &str); 14] = [
    (Part::Json, r#"{"structuredContent":$OBJECT}"#),
    (Part::Json, r#"{"content":[{"type":"text","text":"$TEXT"}]}"#),
    (Part::Json, r#"{"content":[{"type":"text","text":"$TEXT"}],"structuredContent":$OBJECT}"#),
    (
        Part::Json,
        r#"{"structuredContent":{"result":"$TEXT"},"content":[{"type":"text","text":"$TEXT"}]}"#,
    ),
    (Part::Json, r#"{"content":[{"type":"text","text":"$TEXT"},{"type":"text","text":"$TEXT"}]}"#),
    (Part::Json, r#"{"content":[{"type":"resource","resource":{"uri":"x:1","text":"$TEXT"}}]}"#),
    (Part::Json, r#"{"content":[{"type":"text","text":"$TEXT"}],"isError":true}"#),
    (Part::Json, r#"{"isError":true,"content":[],"structuredContent":$OBJECT}"#),
    (Part::Text, r#"{"content":[{"type":"text","text":"the value is $VALUE"}]}"#),
    (Part::Text, r#"{"content":[{"type":"text","text":"$TEXT\n$TEXT"}]}"#),
    (
        Part::Text,
        r#"{"content":[{"type":"resource","resource":{"uri":"x:1","text":"the value is $VALUE"}}]}"#,
    ),
    (Part::Error, r#"{"content":[{"type":"text","text":"failed for $VALUE"}],"isError":true}"#),
    (Part::Error, r#"{"content":[{"type":"text","text":"$TEXT\n$TEXT"}],"isError":true}"#),
    (Part::Json, r#"{"content":[{"type":"text","text":"$TEXT","data":$OBJECT}],"data":$OBJECT}"#),
];

/// The part of a result that the value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A document.
    Json,
    /// A text that is not one JSON document.
    Text,
    /// Such a text of a failed call.
    Error,
}

impl Part {
    fn weakness(self) -> &'static str {
        match self {
            Self::Json => "result-form",
            Self::Text => "text-beside",
            Self::Error => "error-text",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Json => "list what may leave (`retain`, or `select` with `on_error: closed`)",
            Self::Text => "remove `text_beside: keep`",
            Self::Error => "remove `error_text: keep`",
        }
    }
}

/// A proxy with the filters of a manifest.
pub(super) struct ProxyAttack {
    proxy: Arc<Proxy>,
}

impl ProxyAttack {
    /// Creates a proxy without a store.
    pub(super) fn new(manifest: Manifest) -> Option<Self> {
        let rules = Rules::new(Profile::Lossless).ok()?.with_manifest(manifest);
        Some(Self { proxy: Proxy::new(ProxyOptions::new(rules)) })
    }

    /// Runs results through the filter of a tool. Returns their number and the first finding for each part of a result.
    pub(super) fn run(
        &self,
        entry: &ManifestEntry,
        documents: &[PlantedDocument],
    ) -> (u64, Vec<Row>) {
        let tool = entry.name().replace(['*', '?'], "x");
        let mut rows: Vec<Row> = Vec::new();
        let mut count = 0;
        // The filter itself lets the others out: they are among the findings already.
        for document in documents.iter().filter(|document| !document.leaks).take(MAX_DOCUMENTS) {
            for (part, form) in RESULTS {
                if rows.iter().any(|row| row.weakness == part.weakness()) {
                    continue;
                }
                let result = form
                    .replace("$OBJECT", &document.text)
                    .replace("$TEXT", &inside_string(&document.text))
                    .replace("$VALUE", &inside_string(&document.value));
                count += 1;
                let Some(output) = self.filtered(&tool, &result) else { continue };
                if output.contains(&document.canary) {
                    rows.push(Row {
                        weakness: part.weakness().to_owned(),
                        rule: document.rule.clone(),
                        path: document.path.clone(),
                        document: result,
                        output,
                        how: vec!["as a result of the tool, through tamis mcp".to_owned()],
                        remedy: part.remedy().to_owned(),
                    });
                }
            }
        }
        (count, rows)
    }

    /// Returns the result that a client gets. `None` if it gets no response.
    fn filtered(&self, tool: &str, result: &str) -> Option<String> {
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{}\",\"arguments\":{{\"_output_mode\":\"raw\"}}}}}}",
            inside_string(tool)
        );
        let response = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}");
        let mut session = Session::new(&self.proxy);
        let mut exchange = Exchange::stdio();
        let request = Spool::from_vec(request.into_bytes());
        if let Route::Run(job) = session.from_client(&request, &mut exchange) {
            drop(job.run(&request));
        }
        let message = Spool::from_vec(response.clone().into_bytes());
        let sent = match session.from_server(&message, &exchange) {
            Route::Forward => response.into_bytes(),
            Route::Answer(answer) | Route::Reject { body: answer, .. } => answer,
            Route::Drop(_) => return None,
            Route::Run(job) => match job.run(&message).action {
                Action::Original => response.into_bytes(),
                Action::Send(spool) | Action::Answer(spool) => spool.into_vec().ok()?,
                Action::Drop(_) => return None,
            },
        };
        String::from_utf8(sent).ok()
    }
}

/// Escapes a text for the inside of a JSON string.
fn inside_string(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' | '\\' => escaped.extend(['\\', char]),
            char if u32::from(char) < 0x20 => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            char => escaped.push(char),
        }
    }
    escaped
}
