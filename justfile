# Commands for working on tamis. `just` lists them; https://just.systems (or `pip install rust-just`) runs them.

# Prints this list.
default:
    @just --list --unsorted

# Runs the tests: all of them, or those whose names contain NAME.
test *NAME:
    cargo test {{NAME}}

# Runs the cases of one file, or one case: `just case filter::budget`.
case NAME:
    cargo test --test cases -- {{NAME}}

# Runs the tests of one package, such as cli or gateway.
package NAME *ARGS:
    cargo test -p tamis-{{NAME}} {{ARGS}}

# Runs the random tests in full, and the exhaustive ones one size larger.
exhaustive:
    TAMIS_EFFORT=large cargo test exhaustive -- --nocapture

# Checks the licences, the sources and the advisories of dependencies.
deny:
    .ci/deny

# Runs everything that a change must pass.
gate:
    .ci/run

# Runs the slow proofs: all of them, or the named ones.
nightly *STEPS:
    .ci/nightly {{STEPS}}

# Checks the code without running it: the format, clippy with all features, the English, the address and the version.
lint:
    cargo fmt --all --check
    cargo fmt --manifest-path python/Cargo.toml --check
    cargo fmt --manifest-path node/Cargo.toml --check
    cargo clippy --workspace --all-targets --features tamis-gateway/cloud,tamis-gateway/tracing,tamis-extensions/modules -- -D warnings
    .ci/english
    .ci/api
    .ci/address --check
    .ci/version --check

# Formats the code.
format:
    cargo fmt --all
    cargo fmt --manifest-path python/Cargo.toml
    cargo fmt --manifest-path node/Cargo.toml

# Writes expected outputs again after a wanted change; read the diff.
bless:
    TAMIS_BLESS=1 cargo test

# Writes the expected messages of the proxy again; read the diff.
bless-transcripts:
    UPDATE_TRANSCRIPTS=1 cargo test -p tamis-mcp --test transcripts

# Measures the effect of a change; run it before and after.
bench:
    cargo bench --bench first

# Compares with other parsers.
peers:
    cargo bench --bench peers

# Fuzzes every target, one after another, for SECONDS each.
fuzz SECONDS="300":
    cargo run -p tamis-fuzz --example campaign -- --seconds {{SECONDS}}

# Compares with jq over the corpus (Debian's jq).
jq:
    cargo build -p tamis-cli
    python3 crates/interop/jq/compare.py target/debug/tamis corpus

# Builds and tests the package for Python in fresh environments (PyPI).
python:
    python/check

# Builds and tests the package for Node (npm).
node:
    cd node && npm ci && npm test

# Runs the gateway with real MCP clients and servers (npm, PyPI).
peers-mcp *PARTS:
    cargo build -p tamis-gateway
    crates/gateway/tests/peers/run {{PARTS}}

# Runs the hooks with the real coding agents (npm, PyPI; 1.5 GB).
agents *PARTS:
    cargo build -p tamis-cli -p tamis-gateway
    crates/agents/tests/real/run {{PARTS}}

# Runs `tamis serve` with the real Envoy (PyPI).
envoy:
    crates/gateway/tests/envoy/run
