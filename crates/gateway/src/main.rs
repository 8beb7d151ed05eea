//! The binary that `tamis mcp` starts: see the library `tamis_gateway`.

fn main() {}
