//! Strips the published binary, and compiles the messages of ExtMcp with the feature `serve`. Needs no `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    strip();
    #[cfg(feature = "serve")]
    compile_messages()?;
    Ok(())
}

/// Strips the binary in optimised builds. Cargo does not strip those of packages with an `opt-level` of their own. Linkers
/// of other systems have other options.
fn strip() {
    let is = |name, value| std::env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--strip-all");
    }
}

#[cfg(feature = "serve")]
fn compile_messages() -> Result<(), Box<dyn Error>> {
    let folder = "src/serve/ext_mcp";
    let proto = format!("{folder}/ext_mcp.proto");
    println!("cargo::rerun-if-changed={proto}");
    let files = protox::compile([&proto], [folder])?;
    // The client is that of the tests, which play agentgateway's part.
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}
