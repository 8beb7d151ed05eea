//! The jobs and the peers: one file per theme, and one per technique.

mod chunks;
mod items;
mod lazy;
mod path;
mod redact;
mod retain;
mod select;
#[cfg(feature = "bench-simdjson")]
mod simdjson;
mod transcode;
mod typed;
mod validate;

use tamis::spec::Validation;
use tamis::{CallOptions, Filter, Program, Spec};

use crate::harness::{Job, Table};

/// Returns all tables.
pub(crate) fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    tables.extend(select::tables());
    tables.extend(items::tables());
    tables.extend(retain::tables());
    tables.extend(path::tables());
    tables.extend(validate::tables());
    tables.extend(redact::tables());
    tables.extend(chunks::tables());
    tables
}

/// Returns the two reference rows: full validation, and structural validation.
fn tamis_jobs(spec: &Spec) -> Vec<Job> {
    vec![
        tamis_job("tamis full", spec, usize::MAX),
        tamis_job("tamis structure", &spec.clone().validation(Validation::Structure), usize::MAX),
    ]
}

/// The rows of [`tamis_jobs`].
const FULL: usize = 0;
const STRUCTURE: usize = 1;

/// Returns the options of all jobs of tamis: the kernel that `TAMIS_BENCH_KERNEL` names, else the fastest.
pub(crate) fn call_options() -> CallOptions {
    match std::env::var("TAMIS_BENCH_KERNEL") {
        Ok(name) => (CallOptions::new().with_scan_kernel(&name))
            .unwrap_or_else(|| panic!("this CPU does not run TAMIS_BENCH_KERNEL={name}")),
        Err(_) => CallOptions::new(),
    }
}

/// Returns the kernels and versions that a table's head has.
pub(crate) fn versions(options: &CallOptions) -> String {
    let tamis = format!("tamis {}", options.scan_kernel());
    #[cfg(feature = "bench-simdjson")]
    if let Some(simdjson) = simdjson::version() {
        return format!("{tamis}, {simdjson}");
    }
    tamis
}

/// A filter whose input arrives in chunks.
fn tamis_job(name: &str, spec: &Spec, chunk: usize) -> Job {
    let program = Program::compile(spec).unwrap();
    let options = call_options();
    Job::new(name, move |document, output| {
        let mut filter = Filter::new(program.with_options(&options), output);
        for chunk in document.chunks(chunk) {
            if filter.is_done() {
                break;
            }
            filter.write(chunk).unwrap();
        }
        filter.end().unwrap();
    })
}
