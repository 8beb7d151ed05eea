//! Checks the arguments of a call before it is sent: values that a handle stands for, and notices that stand for what was left
//! out.
//!
//! ```text
//! arguments ──▶ notices ──▶ references ──▶ value: store, patch or edits ──▶ schema ──▶ sent
//!                  └───────────┴──────────────┴─────────────────────────────┴──▶ refused: the client gets the reason
//! ```
//!
//! Nothing is sent to the server unless every step succeeds.

mod notices;
mod references;
mod schema;
mod value;

use std::ops::Range;

use memchr::memmem;
use tamis_store::Store;

use self::references::{HANDLE, Reference, shown_place};
use self::value::StoredArgument;
use super::task::{ArgumentCheck, Context};
use crate::jsonrpc::text;
use crate::spool::{Spool, SpoolError};

/// The longest arguments that are checked.
const LONGEST_ARGUMENTS: usize = 64 << 20;

/// The values to insert into a message.
#[derive(Debug, Default)]
pub(super) struct Inserted {
    pub(super) values: Vec<(Range<u64>, Vec<u8>)>,
    /// The first handle.
    pub(super) handle: Option<String>,
}

/// Returns whether a range of a message may have a handle, or a value by handle without one. Nobody escapes these letters.
pub(crate) fn may_have_handle(message: &Spool, range: Range<u64>) -> Result<bool, SpoolError> {
    let finders = [HANDLE, references::NAME].map(memmem::Finder::new);
    let (mut found, mut end) = (false, Vec::new());
    message.each_chunk(range, |chunk| {
        let mut find = |text: &[u8]| found |= finders.iter().any(|it| it.find(text).is_some());
        // They may begin in the chunk before.
        const MOST: usize = references::NAME.len() - 1;
        end.extend_from_slice(chunk.get(..MOST).unwrap_or(chunk));
        find(&end);
        find(chunk);
        end.drain(..end.len().saturating_sub(MOST));
        if let Some(last) = chunk.last_chunk::<MOST>() {
            end = last.to_vec();
        }
        Ok::<_, SpoolError>(())
    })?;
    Ok(found)
}

/// Checks arguments. An error is a clause that says why the call is refused.
pub(super) fn check(
    message: &Spool,
    check: &ArgumentCheck,
    context: &Context,
) -> Result<Inserted, String> {
    let ArgumentCheck { tool, arguments, cuts } = check;
    let json = message
        .to_vec(arguments.clone(), LONGEST_ARGUMENTS)
        .map_err(|_error| "the arguments are too long".to_owned())?;
    let proxy = &context.proxy;
    let allowed = proxy.handle_use();
    let references = match &allowed {
        Some(_) => references::find(&json)?,
        None => Vec::new(),
    };
    if let Some(store) = proxy.store().filter(|_| !proxy.notices_pass(tool)) {
        refuse_notices(&json, store, context, allowed.is_some())?;
    }
    let Some(allowed) = allowed.filter(|_| !references.is_empty()) else {
        return Ok(Inserted::default());
    };
    let store = proxy.store().ok_or("results are not stored here")?;
    let place = |span: &Range<usize>| {
        arguments.start + span.start as u64..arguments.start + span.end as u64
    };
    let overlaps =
        |span: &Range<u64>| cuts.iter().any(|cut| cut.start < span.end && span.start < cut.end);
    if references.iter().any(|reference| overlaps(&place(&reference.span))) {
        return Err("a parameter of the proxy cannot be a value by handle".to_owned());
    }
    let load = |reference: &Reference| {
        let written = &reference.written;
        value::load(store, &context.scope, written, proxy.origin(), &allowed)
            .map_err(|why| format!("{}: {why}", shown_place(&reference.pointer)))
    };
    let values: Vec<StoredArgument> = references.iter().map(load).collect::<Result<_, _>>()?;
    let total: usize = values.iter().map(StoredArgument::len).sum();
    if total > value::MOST_BYTES {
        return Err(format!("the values have more than {} MiB", value::MOST_BYTES >> 20));
    }
    let schema = proxy.input_schema(tool).ok_or(
        "the input schema of the tool is not known, so that nobody can check the value; list the tools first",
    )?;
    let compiler = proxy.schema_compiler().ok_or("nothing here checks the value")?;
    let names = ["_output_mode", "_budget"].into_iter().filter(|name| {
        let starts = |cut: &Range<u64>| {
            let at = cut.start.saturating_sub(arguments.start) as usize;
            json.get(at + 1..).is_some_and(|rest| rest.starts_with(name.as_bytes()))
        };
        cuts.iter().any(starts)
    });
    let names: Vec<&str> = names.collect();
    let chosen = schema::fit(compiler, &schema, &json, &names, &references, values)?;
    Ok(Inserted {
        values: references.iter().map(|it| place(&it.span)).zip(chosen).collect(),
        handle: references.first().map(|reference| text::short(&reference.written.handle, 64)),
    })
}

/// Refuses arguments with the notice of a result that is still stored: they are about to lose what was left out.
fn refuse_notices(
    json: &[u8],
    store: &Store,
    context: &Context,
    offers_handles: bool,
) -> Result<(), String> {
    for handle in notices::handles(json)? {
        let is_ours = store
            .describe(&context.scope, &handle)
            .is_ok_and(|(meta, _)| meta.origin().is_some() && !meta.is_command());
        if is_ours {
            let or = match offers_handles {
                true => format!(", or send {{\"$tamis\":\"{handle}\"}} in its place"),
                false => String::new(),
            };
            return Err(format!(
                "an argument has a notice where a part of a result was left out; read all of it with \
                 {}(handle=\"{handle}\") and send the whole text{or}",
                context.proxy.retrieval_tool()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::may_have_handle;
    use crate::spool::{Spool, SpoolLimits};

    #[test]
    fn handles_are_found_across_chunks() {
        for held in 1..8 {
            let mut spool = Spool::new(SpoolLimits { held, spill: 1 << 20 });
            for byte in b"abtm_x" {
                spool.push(&[*byte]).unwrap();
            }
            assert!(may_have_handle(&spool, 0..6).unwrap());
            assert!(!may_have_handle(&spool, 0..4).unwrap());
            assert!(!may_have_handle(&spool, 3..6).unwrap());
        }
    }
}
