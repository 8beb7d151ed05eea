//! The output of commands: saved outputs of real tools through their filters, registries, rules as data.

mod atoms;
mod chains;
mod failures;
mod gaps;
mod hostile;
mod memory;
mod messages;
mod modelled;
mod planted;
mod random;
mod readme;
mod registry;
mod rules;
mod transcripts;
