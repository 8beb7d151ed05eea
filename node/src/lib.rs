//! The addon: programs, streams, manifests, texts, chats and command output for Node.
//!
//! Options are JSON text, which `index.cjs` writes and `tamis_bindings` reads. A failure is returned as an
//! object, which the JavaScript throws as a `TamisError`. On the thread of JavaScript buffers are borrowed, because nothing
//! else can change them; work for other threads gets copies.

mod background;
mod command;
mod failure;
mod history;
mod manifest;
mod program;
mod restore;
mod stream;
mod text;
