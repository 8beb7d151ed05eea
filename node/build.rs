//! Sets the linker's flags for an addon.

fn main() {
    napi_build::setup();
}
