//! Compiles `peer.cpp` against the simdjson of the system (Debian: `libsimdjson-dev`), for the instructions of this
//! machine: On-Demand picks its kernel when it is compiled, the rest of simdjson when it runs.
//!
//! If simdjson is not installed, it prints a warning, and the peer is left out.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(found)");
    println!("cargo::rerun-if-changed=peer.cpp");
    println!("cargo::rerun-if-env-changed=TAMIS_BENCH_AVX2");
    #[cfg(feature = "on")]
    compile();
}

#[cfg(feature = "on")]
fn compile() {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).define("NDEBUG", None).cargo_metadata(true);
    // A header of the system gives no warnings that concern us.
    build.warnings(false).file("peer.cpp");
    for flag in flags() {
        build.flag(flag);
    }
    match build.try_compile("tamis_simdjson_peer") {
        Ok(()) => {
            println!("cargo::rustc-link-lib=simdjson");
            println!("cargo::rustc-cfg=found");
        }
        Err(_) => println!(
            "cargo::warning=simdjson is left out: it does not compile here (Debian: libsimdjson-dev, g++)"
        ),
    }
}

/// The best kernel of this machine; AVX2 if the environment says so.
#[cfg(all(feature = "on", target_arch = "x86_64"))]
fn flags() -> &'static [&'static str] {
    let avx2 = ["-mavx2", "-mbmi", "-mbmi2", "-mpclmul", "-mlzcnt", "-mpopcnt"].as_slice();
    let avx512 = [
        "-mavx2",
        "-mbmi",
        "-mbmi2",
        "-mpclmul",
        "-mlzcnt",
        "-mpopcnt",
        "-mavx512f",
        "-mavx512dq",
        "-mavx512cd",
        "-mavx512bw",
        "-mavx512vl",
        "-mavx512vbmi",
        "-mavx512vbmi2",
        "-mavx512vpopcntdq",
    ]
    .as_slice();
    let forced = std::env::var_os("TAMIS_BENCH_AVX2").is_some();
    if !forced && std::is_x86_feature_detected!("avx512vbmi2") {
        avx512
    } else if std::is_x86_feature_detected!("avx2") {
        avx2
    } else {
        &[]
    }
}

#[cfg(all(feature = "on", not(target_arch = "x86_64")))]
fn flags() -> &'static [&'static str] {
    &[]
}
