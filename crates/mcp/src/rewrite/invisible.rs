//! Removes invisible characters from the output of a tool, once before anything reads, stores or shows it.

use std::ops::Range;

use tamis::text::InvisibleFilter;

use super::task::Task;
use crate::jsonrpc::find::Found;
use crate::policy::failure::Failure;
use crate::spool::{Spool, SpoolLimits};

/// A message without the invisible characters of its output.
pub(crate) struct Cleaned {
    pub(crate) message: Spool,
    /// How many characters were removed or made visible.
    pub(crate) count: u64,
}

/// Removes invisible characters from the output that a task reads in the message at `span`, and changes the places of the
/// task to those in the new message. Returns `None` if the output has none.
pub(crate) fn clean(
    message: &Spool,
    span: &Range<u64>,
    task: &mut Task,
    limits: SpoolLimits,
) -> Result<Option<Cleaned>, Failure> {
    let outputs = outputs(task);
    let mut may_change = false;
    for output in &outputs {
        message.each_chunk(output.clone(), |chunk| {
            may_change = may_change || InvisibleFilter::may_change_json(chunk);
            Ok::<_, Failure>(())
        })?;
    }
    if !may_change {
        return Ok(None);
    }
    let mut count = 0;
    let mut scratch = Vec::new();
    for output in &outputs {
        count += filtered(message, output, |_| Ok(()), &mut scratch)?;
    }
    if count == 0 {
        return Ok(None);
    }
    let mut cleaned = Spool::new(limits);
    let mut moves = Vec::with_capacity(outputs.len());
    let mut copied = span.start;
    for output in outputs {
        message.each_chunk(copied..output.start, |chunk| cleaned.push(chunk))?;
        filtered(
            message,
            &output,
            |chunk| cleaned.push(chunk).map_err(Failure::from),
            &mut scratch,
        )?;
        copied = output.end;
        moves.push((output.end, cleaned.len()));
    }
    message.each_chunk(copied..span.end, |chunk| cleaned.push(chunk))?;
    let place = |old: u64| {
        // No place is inside of an output.
        let before = moves.partition_point(|(end, _)| *end <= old).checked_sub(1);
        match before.and_then(|at| moves.get(at)) {
            Some((end, new)) => new + (old - end),
            None => old.saturating_sub(span.start),
        }
    };
    move_places(task, place);
    Ok(Some(Cleaned { message: cleaned, count }))
}

/// Filters a JSON value of the message, and returns how many characters were changed.
fn filtered(
    message: &Spool,
    value: &Range<u64>,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
    scratch: &mut Vec<u8>,
) -> Result<u64, Failure> {
    let mut filter = InvisibleFilter::json();
    message.each_chunk(value.clone(), |chunk| {
        scratch.clear();
        filter.write(chunk, scratch);
        take(scratch)
    })?;
    scratch.clear();
    filter.end(scratch);
    take(scratch)?;
    Ok(filter.report().total())
}

/// Returns the places of the output in a message, in order and apart.
fn outputs(task: &Task) -> Vec<Range<u64>> {
    let found = |found: &Option<Found>| found.as_ref().map(|found| found.span.clone());
    let mut outputs: Vec<Range<u64>> = match task {
        Task::Result { result, .. } => vec![result.clone()],
        Task::Nested { result, error, status, .. } => {
            [found(result), found(error), found(status)].into_iter().flatten().collect()
        }
        Task::Resource { texts, .. } => texts.iter().map(|text| text.span.clone()).collect(),
        // The code is a number inside of the error, so it keeps its place between two parts.
        Task::Error { error: Some(error), code: Some(code), .. } => {
            vec![error.span.start..code.span.start, code.span.end..error.span.end]
        }
        Task::Error { error, .. } => found(error).into_iter().collect(),
        Task::Clean { output } => output.iter().map(|found| found.span.clone()).collect(),
        _ => Vec::new(),
    };
    outputs.sort_unstable_by_key(|output| output.start);
    let mut end = 0;
    outputs.retain(|output| {
        let is_apart = output.start >= end;
        end = end.max(output.end);
        is_apart
    });
    outputs
}

/// Changes all places of a task.
fn move_places(task: &mut Task, place: impl Fn(u64) -> u64) {
    let move_range = |range: &mut Range<u64>| *range = place(range.start)..place(range.end);
    let move_found = |found: &mut Found| {
        move_range(&mut found.span);
        found.start = place(found.start);
    };
    match task {
        Task::Result { result, .. } => move_range(result),
        Task::Nested { result, error, status, .. } => {
            [result, error, status].into_iter().flatten().for_each(move_found);
        }
        Task::Resource { contents, items, texts, .. } => {
            contents.iter_mut().chain(items).chain(texts).for_each(move_found);
        }
        Task::Error { error, code, .. } => {
            error.iter_mut().for_each(move_found);
            code.iter_mut().for_each(|code| {
                move_range(&mut code.span);
                code.start = code.span.start;
            });
        }
        _ => {}
    }
}
