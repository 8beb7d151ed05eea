//! One module for each command: its flags, the text of its help, and what it does.

pub(crate) mod about;
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod content;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod filter;
pub(crate) mod gateway;
pub(crate) mod help;
pub(crate) mod hook;
pub(crate) mod install;
pub(crate) mod look;
pub(crate) mod prune;
pub(crate) mod recall;
pub(crate) mod replay;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod savings;
pub(crate) mod scripts;
pub(crate) mod suggest;
pub(crate) mod text;
pub(crate) mod tools;
pub(crate) mod trust;
