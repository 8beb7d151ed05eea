//! The engine and what is around it: models, exhaustive worlds, faults, hostile input, layers. Cases as data are in `tests/cases`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test states what must hold, also in its helpers"
)]

mod adapters;
mod allocation;
mod commands;
mod content;
mod exhaustive;
mod faults;
mod fuzz;
mod grammar;
mod history;
mod layers;
mod manifests;
mod model;
mod patch;
mod tail;
mod text;
