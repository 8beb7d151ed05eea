//! The configuration of a gateway: `gateway.yaml`, whose routes say which filter a response gets.
//!
//! ```yaml
//! version: 1
//! listen: 127.0.0.1:4445
//! manifests: [tamis.yaml]
//! default: refuse
//! routes:
//! - when: {path: /health}
//!   action: pass
//! - when: {method: GET, path: "/users/**", status: 2xx}
//!   spec: {exclude: [ssn]}
//! - when: {path: /mcp}
//!   mcp: {profile: standard}
//! ```
//!
//! The first route that matches is used. `default` says what happens to other responses. Required.

mod action;
mod filter;
mod gateway;
mod order;
mod pattern;
mod read;
mod route;
mod when;
mod written;

pub use action::Action;
pub use filter::{HttpFilter, TextRules};
pub use gateway::{GatewayConfig, RecallTarget};
pub use pattern::{PathPattern, RequestPath};
pub use route::{Route, RouteRule};
pub use when::Conditions;
pub use when::essence;
