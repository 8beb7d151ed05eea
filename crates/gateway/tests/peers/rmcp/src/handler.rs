//! The client side of the session: replies to the server's questions, and a record of its notifications.

#![allow(
    deprecated,
    reason = "sampling, roots and logging belong to the legacy era, which the gateway serves"
)]

use std::sync::{Arc, Mutex};

use anyhow::Result;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
        ElicitResult, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
        ResourceUpdatedNotificationParam,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::{Value, json};

use crate::emit;

/// Notifications that have arrived.
#[derive(Default)]
pub struct Seen {
    pub progress: Mutex<Vec<Value>>,
    pub updates: Mutex<Vec<String>>,
}

#[derive(Clone, Default)]
pub struct Handler {
    pub seen: Arc<Seen>,
}

/// A form with the defaults, and with a value for each other property that is required.
fn fill_in(schema: &Value) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut content = serde_json::Map::new();
    for (name, rules) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(value) = rules.get("default") {
            content.insert(name.clone(), value.clone());
        } else if required.contains(&name.as_str()) {
            let value = match (rules["enum"].get(0), rules["type"].as_str()) {
                (Some(first), _) => first.clone(),
                (None, Some("boolean")) => json!(true),
                (None, Some("integer" | "number")) => json!(7),
                _ => json!("Ada"),
            };
            content.insert(name.clone(), value);
        }
    }
    Value::Object(content)
}

/// The value as a type of the SDK. Most of its types cannot be built in any other way from outside.
pub fn model<T: serde::de::DeserializeOwned>(value: Value) -> Result<T> {
    Ok(serde_json::from_value(value)?)
}

fn reply<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ClientHandler for Handler {
    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        reply(
            json!({"role": "assistant", "content": {"type": "text", "text": "a sampled text"}, "model": "test-model"}),
        )
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let root = std::env::var("TAMIS_ROOT").unwrap_or_else(|_| "/tmp".into());
        reply(json!({"roots": [{"uri": format!("file://{root}"), "name": "scratch"}]}))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let request = serde_json::to_value(&request).unwrap_or_default();
        reply(json!({"action": "accept", "content": fill_in(&request["requestedSchema"])}))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Ok(mut progress) = self.seen.progress.lock() {
            progress.push(json!([params.progress, params.total]));
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        emit(&json!({"step": "log", "data": params.data}));
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Ok(mut updates) = self.seen.updates.lock() {
            updates.push(params.uri.to_string());
        }
    }

    fn get_info(&self) -> ClientConfig {
        model(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"sampling": {}, "elicitation": {"form": {}}, "roots": {"listChanged": true}},
            "clientInfo": {"name": "tamis-test-rmcp", "version": "1.0.0"},
        }))
        .unwrap_or_default()
    }
}
