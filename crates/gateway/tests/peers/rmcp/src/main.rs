//! The client of `rmcp`, the Rust SDK. Plays the scenario of clients/plan.json and prints one JSON object a line for each step.
//!
//! ```text
//! rmcp-client PLAN SERVER stdio COMMAND ARG…
//! rmcp-client PLAN SERVER http URL
//! ```
//!
//! `TAMIS_ERA` chooses the era: `legacy`, or `auto` (the default: modern if the server has it).

mod handler;

use std::{
    collections::HashSet,
    future::Future,
    hash::{Hash, Hasher},
    io::Write,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use handler::{Handler, model};
use regex::Regex;
use rmcp::{
    RoleClient,
    model::{CallToolRequest, CallToolResult, ClientRequest},
    service::{
        ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, RunningService, ServiceError,
    },
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Map, Value, json};

type Client = RunningService<RoleClient, Handler>;

const STEP_TIMEOUT: Duration = Duration::from_secs(25);
const LATE_PROGRESS: Duration = Duration::from_millis(50);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(120);

/// Results that are printed whole have at most this many bytes.
const LARGE: usize = 200_000;

/// Prints a step. A large result is replaced by its size and its hash.
pub fn emit(step: &Value) {
    let mut step = step.clone();
    let text = step["result"].to_string();
    if text.len() > LARGE {
        let mut hasher = std::hash::DefaultHasher::new();
        text.hash(&mut hasher);
        let digest = format!("{:016x}", hasher.finish());
        let failed = step["result"]["isError"].clone();
        step["result"] = json!({"bytes": text.len(), "digest": digest, "isError": failed});
    }
    if step["result"].is_null() {
        step.as_object_mut().map(|members| members.remove("result"));
    }
    let mut output = std::io::stdout().lock();
    // The runner reports a run without output as incomplete.
    let _ = writeln!(output, "{step}");
}

/// A handle that a notice named: the tool, its arguments and the handle.
struct Handle {
    tool: String,
    arguments: String,
    handle: String,
}

/// The members of `step` with the outcome of an action.
fn with_outcome(step: Value, outcome: Result<Value>) -> Value {
    let mut step = step;
    match outcome {
        Ok(result) => step["result"] = result,
        Err(error) => {
            let code = match error.downcast_ref::<ServiceError>() {
                Some(ServiceError::McpError(data)) => json!(data.code.0),
                _ => Value::Null,
            };
            step["error"] = json!({"code": code, "message": error.to_string()});
        }
    }
    step
}

async fn within<T>(action: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::time::timeout(STEP_TIMEOUT, action).await.map_err(|_| anyhow!("timed out"))?
}

async fn attempt(step: Value, action: impl Future<Output = Result<Value>>) -> Option<Value> {
    let step = with_outcome(step, within(action).await);
    emit(&step);
    step.get("result").cloned()
}

/// All pages of one kind of list.
async fn pages(client: &Client, kind: &str) -> Result<Value> {
    let mut entries = Vec::new();
    let mut cursor: Option<String> = None;
    let mut count = 0;
    loop {
        let params = match &cursor {
            Some(cursor) => Some(model(json!({"cursor": cursor}))?),
            None => None,
        };
        let (page, member) = match kind {
            "tools" => (serde_json::to_value(client.list_tools(params).await?)?, "tools"),
            "resources" => {
                (serde_json::to_value(client.list_resources(params).await?)?, "resources")
            }
            "templates" => (
                serde_json::to_value(client.list_resource_templates(params).await?)?,
                "resourceTemplates",
            ),
            _ => (serde_json::to_value(client.list_prompts(params).await?)?, "prompts"),
        };
        entries.extend(page[member].as_array().cloned().unwrap_or_default());
        count += 1;
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() || count == 100 {
            return Ok(json!({"pages": count, "entries": entries}));
        }
    }
}

async fn call(client: &Client, tool: &str, arguments: &Value) -> Result<CallToolResult> {
    let params = model(json!({"name": tool, "arguments": arguments}))?;
    Ok(client.call_tool(params).await?)
}

async fn calls(client: &Client, plan: &Value, names: &HashSet<String>) -> Result<Vec<Handle>> {
    let pattern = Regex::new("tm_[a-z2-7]{26}")?;
    let mut handles = Vec::new();
    for case in list(&plan["calls"]) {
        let tool = text(&case["tool"]);
        if !names.contains(tool) && !tool.starts_with("no-such") {
            continue;
        }
        take_progress(client);
        let outcome = within(async {
            Ok(serde_json::to_value(call(client, tool, &case["arguments"]).await?)?)
        })
        .await;
        // The SDK handles notifications in tasks of their own, which may end after the response.
        tokio::time::sleep(LATE_PROGRESS).await;
        if let Some(found) = outcome.as_ref().ok().and_then(|result| {
            pattern.find(&result.to_string()).map(|found| found.as_str().to_owned())
        }) {
            handles.push(Handle {
                tool: tool.to_owned(),
                arguments: case["arguments"].to_string(),
                handle: found,
            });
        }
        let mut step = json!({"step": "call", "tool": tool, "arguments": case["arguments"], "progress": take_progress(client)});
        if case["varies"] == true {
            step["varies"] = json!(true);
        }
        emit(&with_outcome(step, outcome));
    }
    Ok(handles)
}

fn take_progress(client: &Client) -> Value {
    let mut progress = match client.service().seen.progress.lock() {
        Ok(progress) => progress,
        Err(_) => return Value::Null,
    };
    Value::Array(std::mem::take(&mut *progress))
}

/// Reads with `tamis_retrieve` what the filters cut.
async fn retrieve(client: &Client, plan: &Value, handles: &[Handle]) {
    for case in list(&plan["retrieve"]) {
        let (tool, part) = (text(&case["tool"]), text(&case["match"]));
        let found =
            handles.iter().find(|handle| handle.tool == tool && handle.arguments.contains(part));
        let mut step = json!({"step": "retrieve", "tool": tool, "match": part, "arguments": case["arguments"], "handle": found.is_some(), "ok": false});
        if let Some(found) = found {
            let mut arguments: Map<String, Value> =
                case["arguments"].as_object().cloned().unwrap_or_default();
            arguments.insert("handle".into(), json!(found.handle));
            match within(async {
                Ok(serde_json::to_value(
                    call(client, "tamis_retrieve", &Value::Object(arguments)).await?,
                )?)
            })
            .await
            {
                Ok(result)
                    if result["isError"] != true
                        && result.to_string().contains(text(&case["expect"])) =>
                {
                    step["ok"] = json!(true)
                }
                outcome => step = with_outcome(step, outcome),
            }
        }
        emit(&step);
    }
}

/// Starts a call and cancels it.
async fn cancel(client: &Client, case: &Value) -> Result<()> {
    let params = model(json!({"name": case["tool"], "arguments": case["arguments"]}))?;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let started = std::time::Instant::now();
    let handle = client.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
    tokio::time::sleep(Duration::from_millis(case["after_ms"].as_u64().unwrap_or(400))).await;
    handle.cancel(Some("cancelled by the test".into())).await?;
    // A client that still works afterwards shows that the cancellation did not break the session.
    within(async { Ok(client.list_tools(None).await?) }).await?;
    let quick = started.elapsed() < Duration::from_secs(5);
    emit(&json!({"step": "cancel", "tool": case["tool"], "outcome": "an error", "quick": quick}));
    Ok(())
}

async fn subscribe(client: &Client, case: &Value, modern: bool) -> Result<Value> {
    let (uri, trigger) = (text(&case["uri"]), text(&case["trigger"]));
    if modern {
        let mut subscription =
            client.listen(model(json!({"resourceSubscriptions": [uri]}))?).await?;
        call(client, trigger, &json!({})).await?;
        let updated = tokio::time::timeout(Duration::from_secs(3), subscription.next()).await;
        let updated = matches!(updated, Ok(Ok(Some(_)))).then_some(uri);
        let _ = subscription.cancel().await;
        return Ok(json!({"updated": updated}));
    }
    #[allow(deprecated, reason = "the legacy era has no other way")]
    client.subscribe(model(json!({"uri": uri}))?).await?;
    call(client, trigger, &json!({})).await?;
    for _ in 0..30 {
        if let Some(first) =
            client.service().seen.updates.lock().ok().and_then(|updates| updates.first().cloned())
        {
            return Ok(json!({"updated": first}));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(json!({"updated": null}))
}

async fn play(client: &Client, plan: &Value) -> Result<()> {
    let info = client
        .peer_info()
        .map(|info| serde_json::to_value(&*info))
        .transpose()?
        .unwrap_or_default();
    let protocol = text(&info["protocolVersion"]).to_owned();
    emit(&json!({
        "step": "connect", "server": info["serverInfo"], "capabilities": info["capabilities"],
        "instructions": info["instructions"], "protocol": protocol,
    }));
    let listing =
        attempt(json!({"step": "tools"}), pages(client, "tools")).await.unwrap_or_default();
    let names: HashSet<String> =
        list(&listing["entries"]).iter().map(|tool| text(&tool["name"]).to_owned()).collect();
    let handles = calls(client, plan, &names).await?;
    if names.contains("tamis_retrieve") {
        retrieve(client, plan, &handles).await;
    }
    if plan["cancel"].is_object() {
        cancel(client, &plan["cancel"]).await?;
    }
    if plan["subscribe"].is_object() {
        let step = json!({"step": "subscribe", "uri": plan["subscribe"]["uri"]});
        attempt(step, subscribe(client, &plan["subscribe"], protocol.as_str() >= "2026")).await;
    }
    if let Some(limit) = plan["resources"].as_u64() {
        let listing = attempt(json!({"step": "resources"}), pages(client, "resources"))
            .await
            .unwrap_or_default();
        attempt(json!({"step": "templates"}), pages(client, "templates")).await;
        let listed =
            list(&listing["entries"]).iter().map(|entry| entry["uri"].clone()).take(limit as usize);
        for uri in listed.chain(list(&plan["read"]).iter().cloned()).collect::<Vec<_>>() {
            let step = json!({"step": "read", "uri": uri});
            attempt(step, async {
                Ok(serde_json::to_value(client.read_resource(model(json!({"uri": uri}))?).await?)?)
            })
            .await;
        }
    }
    if plan["prompts"].is_array() {
        attempt(json!({"step": "prompts"}), pages(client, "prompts")).await;
        for prompt in list(&plan["prompts"]) {
            let step = json!({"step": "prompt", "name": prompt["name"]});
            attempt(step, async {
                Ok(serde_json::to_value(client.get_prompt(model(prompt.clone())?).await?)?)
            })
            .await;
        }
    }
    if plan["complete"].is_object() {
        let action = async {
            Ok(serde_json::to_value(client.complete(model(plan["complete"].clone())?).await?)?)
        };
        attempt(json!({"step": "complete"}), action).await;
    }
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Connects over the transport and in the era that were asked for.
async fn connect(mode: &str, target: &[String]) -> Result<Client> {
    let lifecycle = match std::env::var("TAMIS_ERA").as_deref() {
        Ok("legacy") => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Auto {
            preferred_versions: vec![model(json!("2026-07-28"))?],
            legacy_version: None,
        },
    };
    let (first, rest) = target.split_first().context("expected a command or a URL")?;
    if mode == "http" {
        let transport = StreamableHttpClientTransport::from_uri(first.as_str());
        return Ok(Handler::default().serve_with_lifecycle(transport, lifecycle).await?);
    }
    let mut command = tokio::process::Command::new(first);
    command.args(rest);
    Ok(Handler::default().serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?)
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [plan, server, mode, target @ ..] = arguments.as_slice() else {
        return Err(anyhow!("usage: rmcp-client PLAN SERVER stdio|http TARGET…"));
    };
    let plans: Value = serde_json::from_str(&std::fs::read_to_string(plan)?)?;
    let run = async {
        let client = connect(mode, target).await?;
        play(&client, &plans[server.as_str()]).await?;
        client.cancel().await?;
        emit(&json!({"step": "closed"}));
        anyhow::Ok(())
    };
    match tokio::time::timeout(TOTAL_TIMEOUT, run).await {
        Ok(outcome) => outcome,
        Err(_) => {
            emit(&json!({"step": "timeout"}));
            std::process::exit(3);
        }
    }
}
