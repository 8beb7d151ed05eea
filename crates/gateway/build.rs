//! Compiles the messages of ExtMcp with the feature `serve`. Needs no `protoc`.

#[cfg(feature = "serve")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = "src/serve/ext_mcp";
    let proto = format!("{folder}/ext_mcp.proto");
    println!("cargo::rerun-if-changed={proto}");
    let files = protox::compile([&proto], [folder])?;
    // The client is that of the tests, which play agentgateway's part.
    tonic_prost_build::configure().build_transport(false).compile_fds(files)?;
    Ok(())
}

#[cfg(not(feature = "serve"))]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
