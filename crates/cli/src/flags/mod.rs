//! Flags that several commands share, and the values of flags.

pub(crate) mod caps;
pub(crate) mod choice;
pub(crate) mod conditions;
pub(crate) mod groups;
pub(crate) mod habits;
pub(crate) mod lists;
