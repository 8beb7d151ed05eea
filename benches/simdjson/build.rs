//! Compiles simdjson and `peer.cpp` for one kernel: the one that `TAMIS_BENCH_KERNEL` names, else the best of this
//! machine. The sources of simdjson are those of the crate `simdjson-sys`.
//!
//! If a step fails, a warning is printed, and the peer is left out.

#[cfg(feature = "on")]
use std::path::PathBuf;
#[cfg(feature = "on")]
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(found)");
    println!("cargo::rerun-if-changed=peer.cpp");
    println!("cargo::rerun-if-changed=Cargo.toml");
    println!("cargo::rerun-if-env-changed=TAMIS_BENCH_KERNEL");
    #[cfg(feature = "on")]
    match compile() {
        Ok(()) => println!("cargo::rustc-cfg=found"),
        Err(reason) => println!("cargo::warning=simdjson is left out: {reason}"),
    }
}

/// Compiles two libraries: simdjson, which contains all kernels and chooses one at run time, and the jobs, in which
/// On-Demand is compiled for one kernel.
#[cfg(feature = "on")]
fn compile() -> Result<(), String> {
    let flags = flags()?;
    let sources = sources()?;
    let build = || {
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(3).define("NDEBUG", None).include(&sources);
        build.warnings(false);
        build
    };
    // The order matters to the linker: the jobs use simdjson.
    let jobs = build().file("peer.cpp").flags(flags).try_compile("tamis_simdjson_peer");
    jobs.map_err(|error| format!("the jobs do not compile: {error}"))?;
    let simdjson = build().file(sources.join("simdjson.cpp")).try_compile("tamis_simdjson");
    simdjson.map_err(|error| format!("it does not compile: {error}"))
}

/// Returns the folder with `simdjson.h` and `simdjson.cpp`.
///
/// Cargo downloads the crate and reports its folder if the cfg of the dependency is set.
#[cfg(feature = "on")]
fn sources() -> Result<PathBuf, String> {
    let variable = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set"));
    let output = Command::new(variable("CARGO")?)
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform"])
        .arg(variable("TARGET")?)
        .current_dir(variable("CARGO_MANIFEST_DIR")?)
        .env("CARGO_ENCODED_RUSTFLAGS", "--cfg=simdjson_sources")
        .output()
        .map_err(|error| format!("cargo metadata does not run: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).replace('\n', " ");
        return Err(format!("cargo metadata fails: {message}"));
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the output of cargo metadata is unknown: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages
        .filter(|package| package["name"] == "simdjson-sys")
        .find_map(|package| package["manifest_path"].as_str())
        .ok_or("cargo metadata does not have the crate simdjson-sys")?;
    let folder = PathBuf::from(manifest).with_file_name("vendor").join("simdjson");
    println!("cargo::rerun-if-changed={}", folder.join("simdjson.h").display());
    Ok(folder)
}

/// Returns the compiler's flags for the instructions that the kernel of On-Demand may use.
#[cfg(all(feature = "on", target_arch = "x86_64"))]
fn flags() -> Result<&'static [&'static str], String> {
    const AVX512: &[&str] = &[
        "-mavx512f",
        "-mavx512dq",
        "-mavx512cd",
        "-mavx512bw",
        "-mavx512vl",
        "-mavx512vbmi",
        "-mavx512vbmi2",
        "-mavx512vpopcntdq",
        "-mavx2",
        "-mbmi",
        "-mbmi2",
        "-mpclmul",
        "-mlzcnt",
        "-mpopcnt",
    ];
    const AVX2: &[&str] = &["-mavx2", "-mbmi", "-mbmi2", "-mpclmul", "-mlzcnt", "-mpopcnt"];
    let has_avx512 = std::is_x86_feature_detected!("avx512vbmi2");
    let has_avx2 = std::is_x86_feature_detected!("avx2");
    match std::env::var("TAMIS_BENCH_KERNEL").ok().as_deref() {
        None if has_avx512 => Ok(AVX512),
        None if has_avx2 => Ok(AVX2),
        None | Some("scalar") => Ok(&[]),
        Some("avx512") if has_avx512 => Ok(AVX512),
        Some("avx2") if has_avx2 => Ok(AVX2),
        Some(name) => Err(format!("this CPU does not run TAMIS_BENCH_KERNEL={name}")),
    }
}

/// Returns no flags: on other architectures, simdjson has one kernel, which needs none.
#[cfg(all(feature = "on", not(target_arch = "x86_64")))]
fn flags() -> Result<&'static [&'static str], String> {
    match std::env::var("TAMIS_BENCH_KERNEL").ok().as_deref() {
        Some("scalar") => Err("only its vector kernel is compiled on this architecture".to_owned()),
        _ => Ok(&[]),
    }
}
