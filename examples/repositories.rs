//! Writes a list of repositories, as the GitHub REST API sends them, of about so many MB to standard output: the document
//! of the benches, for timing whole processes.
//!
//! ```sh
//! cargo run --release --example repositories 200 > repositories.json
//! ```

use std::io::Write;

#[path = "../benches/data/mod.rs"]
#[allow(dead_code, reason = "the benches use more of it")]
mod data;

fn main() -> std::io::Result<()> {
    let megabytes = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    std::io::stdout().write_all(&data::repositories(megabytes << 20))
}
