//! Lets the linker of macOS leave the functions of Python and Node undefined. The process that loads a module has them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("macos") {
        println!("cargo::rustc-link-arg-examples=-undefined");
        println!("cargo::rustc-link-arg-examples=dynamic_lookup");
    }
}
