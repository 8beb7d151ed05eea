//! Lists of tools, in which agentgateway puts the name of the server before that of the tool if there are several servers.

use serde_json::Value;
use tonic::Status;

use super::decide::{Decision, decide_response, proxy};
use super::message::CallMetadata;
use crate::serve::table::Table;

/// Separates the name of a server from that of its tool.
const SEPARATOR: char = '_';

/// Changes the schemas of filtered tools.
pub(super) async fn decide(
    table: &Table,
    services: &[String],
    result: Vec<u8>,
) -> Result<Decision, Status> {
    let call =
        CallMetadata { method: "tools/list".to_owned(), params: "{}".to_owned(), scope: None };
    if services.len() < 2 {
        return Ok(decide_response(&proxy(table, services)?, &call, result, &table.observer).await);
    }
    let Ok(mut list) = serde_json::from_slice::<Value>(&result) else { return Ok(Decision::Pass) };
    let Some(tools) = list.get_mut("tools").and_then(Value::as_array_mut) else {
        return Ok(Decision::Pass);
    };
    let mut is_changed = false;
    for service in services.iter().filter(|service| !table.is_recall(service)) {
        let prefix = format!("{service}{SEPARATOR}");
        let mut of_service: Vec<(&mut Value, Value)> = Vec::new();
        for tool in tools.iter_mut() {
            let name = tool.get("name").and_then(Value::as_str);
            if let Some(native) = name.and_then(|name| name.strip_prefix(&prefix)) {
                let renamed = renamed(tool, native);
                of_service.push((tool, renamed));
            }
        }
        let native: Vec<&Value> = of_service.iter().map(|(_, native)| native).collect();
        let native = serde_json::json!({ "tools": native }).to_string().into_bytes();
        let proxy = proxy(table, std::slice::from_ref(service))?;
        let Decision::Change(changed) =
            decide_response(&proxy, &call, native, &table.observer).await
        else {
            continue;
        };
        let Ok(mut changed) = serde_json::from_slice::<Value>(&changed) else { continue };
        let changed = changed.get_mut("tools").and_then(Value::as_array_mut);
        for ((tool, _), new) in of_service.into_iter().zip(changed.into_iter().flatten()) {
            let name = new.get("name").and_then(Value::as_str).unwrap_or_default();
            *tool = renamed(new, &format!("{prefix}{name}"));
            is_changed = true;
        }
    }
    Ok(if is_changed { Decision::Change(list.to_string().into_bytes()) } else { Decision::Pass })
}

/// Returns a tool under another name.
fn renamed(tool: &Value, name: &str) -> Value {
    let mut tool = tool.clone();
    if let Some(member) = tool.get_mut("name") {
        *member = Value::String(name.to_owned());
    }
    tool
}
