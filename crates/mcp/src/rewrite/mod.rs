//! The new bytes of a message.
//!
//! A [`Job`] has the tasks of one message (`task`) and carries them out (`job`).
//!
//! | file | for |
//! |---|---|
//! | `arguments` | values by handle, and notices, in the arguments of a call |
//! | `delta` | a result that only says what has changed |
//! | `listing`, `retrieve`, `resource`, `invisible` | the tasks that are not the result of a tool |
//! | `result`, `result_parts` | the attempts to rewrite the result of a tool |
//! | `blocks`, `block_text`, `text_cut` | the texts of its content |
//! | `wrapped`, `unreached`, `copies`, `digest` | texts and structured content that repeat each other |
//! | `run` | the programs of a filter, over a part of the message |
//! | `omission`, `hint`, `cursor`, `stored`, `notice` | what was left out of it, what is stored, and the notice about it |
//! | `images`, `data_urls` | images in its strings, which become blocks, and `data:` URLs in its texts |
//! | `assemble` | the replacements in the message |
//! | `outcome`, `shown` | the message to send, its record, and the size of what a client shows |

pub(crate) mod arguments;
pub(crate) mod assemble;
pub(crate) mod block_text;
pub(crate) mod blocks;
pub(crate) mod copies;
mod cursor;
mod data_urls;
mod delta;
mod digest;
mod hint;
mod images;
pub(crate) mod invisible;
pub(crate) mod job;
pub(crate) mod listing;
pub(crate) mod notice;
pub(crate) mod omission;
pub(crate) mod outcome;
pub(crate) mod replaced;
pub(crate) mod resource;
pub(crate) mod result;
pub(crate) mod result_parts;
pub(crate) mod retrieve;
pub(crate) mod run;
mod shorter_tool;
mod shown;
pub(crate) mod stored;
pub(crate) mod task;
pub(crate) mod text_cut;
pub(crate) mod typed;
pub(crate) mod unreached;
mod wrapped;

pub use job::Job;
pub use outcome::{Action, DropReason, Outcome};
pub use retrieve::{PlainError, read_plain};
