//! Policies: rules for the members of a container as data, so that the machine need not ask its handler about each.
//!
//! A handler states its policy when the machine enters a container and whenever the machine returns to it. The loops of
//! the machine carry the policy out. A rule that the policy cannot express is [`Action::Ask`]: the machine then calls
//! [`Handler::value`](super::Handler::value), which is slower but has the same result. A new rule is therefore slow until
//! its policy is stated, but its input never bypasses it.
//!
//! | rule | handler | names | others | also |
//! |---|---|---|---|---|
//! | a copied or dropped container | none | – | `Skip` | the machine's own policy, [`Policy::SKIP`] |
//! | `select` | `items/policy.rs` | `Keep` or `Rename`; `Ask` for containers and before the first hit | `Skip` | `once`, `drop` |
//! | `select`, every name was found | `items/policy.rs` | – | `SkipRest` | |
//! | `exclude`, `drop_nulls`, `drop_empty` | `items/policy.rs` | `Skip` where a path ends, else `Ask` | `Keep` | `drop` |
//! | `omit` | `items/policy.rs` | `Omit` where a path ends, else `Ask` | `Keep` | `omitted` |
//! | `retain` | `document/retain.rs` | `Keep` where a pointer ends, else `Ask` | `Skip` | |
//! | `patches` | `document/patcher.rs` | `Ask` | `Keep`, or `Skip` in a removed value | |
//! | `patches` with `retain` | `document/patcher.rs` | `Ask` | `Skip` | |
//! | the root of the payload | `root.rs` | `Ask` | `Skip` | `asks_containers`, `passed` |
//! | `when` | `choose.rs` | `Ask` | `Skip` | |
//! | `json_strings` | `json_strings/handler.rs` | `Ask` | `Keep` | |
//! | `ValueFinder` | `values/finder.rs` | `Ask` | `Skip` | |
//! | `look` | `insight/look/run.rs` | – | `Ask` | |
//! | history | `survey/mod.rs` | `Ask` | `Skip` | |
//! | `omit_base64_over` | `output/omit_base64.rs` | – | `Keep` | `longest` |
//! | all others | | – | `Ask` | [`Policy::ASK`], the default |

use super::writer::JsonWriter;
pub use crate::path::names::Action;
use crate::path::names::{NameTable, NodeId};
use crate::scan::Window;
use crate::sink::Sink;

/// A set of kinds of scalars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindSet(u8);

impl KindSet {
    /// No kind.
    pub const EMPTY: Self = Self(0);
    const NULL: u8 = 1;
    const EMPTY_STRING: u8 = 2;

    /// `null` and `""`, each only if it is in the set.
    pub fn new(null: bool, empty_string: bool) -> Self {
        Self((u8::from(null) * Self::NULL) | (u8::from(empty_string) * Self::EMPTY_STRING))
    }

    /// Whether the set contains the kind of the valid scalar at `at`, whose first byte is `first`.
    #[inline(always)]
    pub fn contains(self, text: &[u8], at: usize, first: u8) -> bool {
        self.0 != 0
            && ((self.0 & Self::NULL != 0 && first == b'n')
                || (self.0 & Self::EMPTY_STRING != 0
                    && first == b'"'
                    && text.get(at + 1) == Some(&b'"')))
    }
}

/// The rules for the members or elements of the container that was entered last.
///
/// Valid only for the current state of the handler: the machine asks for it again after each call of the handler.
pub struct Policy<'a> {
    /// Members with these names, and the action for each by its entry in the table. The action of an entry that is
    /// missing is [`Action::Ask`]. In an array such a policy has no effect: the machine asks about each element.
    pub names: Option<(&'a NameTable, &'a [Action])>,
    /// All other members, or all elements.
    pub others: Action,
    /// The machine asks about members with a container, even if others are dropped.
    pub asks_containers: bool,
    /// The number of members that were handled without asking.
    pub passed: Option<&'a mut u64>,
    /// Members with a scalar of these kinds are dropped instead of written.
    pub drop: KindSet,
    /// After the last name of [`once`](Self::once) the rest of the object is dropped, as by [`Action::SkipRest`]. Otherwise
    /// the machine asks for the policy again.
    pub then_skips: bool,
    /// The longest scalar, in bytes as it is spelled, that is kept without asking.
    pub longest: u32,
    /// Present if each name counts once, and the machine must ask about a duplicate.
    pub once: Option<Once<'a>>,
    /// The keys of [`Action::Rename`], as JSON.
    pub keys: &'a [Vec<u8>],
    /// The number of members dropped by [`Action::Omit`]. Without it the machine asks instead.
    pub omitted: Option<&'a mut u64>,
    /// Tests the values of members with a name in the table. An object with a member that fails is dropped. Only for the
    /// policy of [`Handler::enter_object`](super::Handler::enter_object), and with `once`: later members of a name are not
    /// tested.
    pub test: Option<&'a mut dyn MemberTest>,
    /// Receives what is kept. Without it nothing is kept, and the machine asks instead.
    pub output: Option<Output<'a>>,
}

/// A policy is moved for each object, and a copy of more bytes would be a call.
const _: () = assert!(size_of::<Option<Policy<'_>>>() <= 128, "policies are small");

/// Tests of the values of members.
pub trait MemberTest {
    /// Whether a member with the name of this entry may have this scalar, given as JSON text.
    fn passes(&mut self, entry: NodeId, value: &[u8]) -> bool;
}

impl Policy<'_> {
    /// Asks about every member and element.
    pub const ASK: Self = Self::all(Action::Ask);
    /// Drops every member and element.
    pub const SKIP: Self = Self::all(Action::Skip);

    /// Treats every member and element like this.
    pub const fn all(others: Action) -> Self {
        Self {
            names: None,
            others,
            asks_containers: false,
            passed: None,
            drop: KindSet::EMPTY,
            then_skips: false,
            longest: u32::MAX,
            once: None,
            keys: &[],
            omitted: None,
            test: None,
            output: None,
        }
    }
}

impl<'a> Policy<'a> {
    /// Asks about members with these names, and treats all others like this.
    pub fn ask_named(names: &'a NameTable, others: Action) -> Self {
        Self { names: Some((names, &[])), ..Self::all(others) }
    }
}

/// The result of a policy for a named member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberResult {
    /// Nothing: the machine must ask the handler.
    Ask,
    /// It is kept with the others around it.
    Kept,
    /// It was written, or dropped.
    Finished,
    /// It was written or dropped, and no other member is wanted.
    FinishedLast,
    /// It fails its test.
    Failed,
}

impl Policy<'_> {
    /// Returns the action for a member with a name in the table.
    #[inline(always)]
    pub fn action(&self, entry: NodeId) -> Action {
        let action = self.names.and_then(|(_, actions)| actions.get(entry as usize));
        action.copied().unwrap_or_default()
    }

    /// Carries out the action for a member with a name in the table, whose value is a valid scalar.
    #[inline(never)]
    pub fn apply(&mut self, text: &[u8], member: ScalarMember, entry: NodeId) -> MemberResult {
        let action = self.action(entry);
        // Consecutive kept members are written at once, with their own keys.
        let kept = self.others == Action::Keep;
        let writes = match action {
            // No rule counts names and keeps all other members: a run of members does not end at the last name.
            _ if kept && self.once.is_some() => return MemberResult::Ask,
            Action::Skip => false,
            Action::Omit if let Some(omitted) = &mut self.omitted => {
                **omitted += 1;
                false
            }
            Action::Keep if self.output.is_some() => true,
            Action::Rename(_) if self.output.is_some() && !kept => true,
            _ => return MemberResult::Ask,
        };
        let mut result = MemberResult::Finished;
        if let Some(Once { met, wanted }) = &mut self.once {
            if !met.get_mut(entry as usize).is_some_and(|met| wanted.meet(met)) {
                return MemberResult::Ask;
            }
            if wanted.left == 0 {
                result = MemberResult::FinishedLast;
            }
        }
        if let Some(test) = &mut self.test {
            let value = text.get(member.value..member.end).unwrap_or_default();
            if !test.passes(entry, value) {
                return MemberResult::Failed;
            }
        }
        let first = text.get(member.value).copied().unwrap_or(0);
        if !writes || self.drop.contains(text, member.value, first) {
            return result;
        }
        if kept {
            return MemberResult::Kept;
        }
        let renamed = match action {
            Action::Rename(number) => self.keys.get(number as usize).map(Vec::as_slice),
            _ => None,
        };
        if let Some(output) = &mut self.output {
            output.member(text, member, renamed);
        }
        result
    }
}

/// The named members of a container that were seen.
pub struct Once<'a> {
    /// By entry of the table: the serial number of the container in which the name was seen last. Not a slice, which would
    /// make policies larger.
    pub met: &'a mut Vec<u64>,
    /// The names that are missing in this container.
    pub wanted: &'a mut WantedNames,
}

/// The names of one container that were not seen yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WantedNames {
    /// The serial number of the container.
    pub serial: u64,
    /// How many there are.
    pub left: u32,
}

impl WantedNames {
    /// Records a name, of which `met` is the container in which it was seen last. Returns `false` for a duplicate.
    #[inline]
    pub fn meet(&mut self, met: &mut u64) -> bool {
        let is_first = *met != self.serial;
        if is_first {
            *met = self.serial;
            self.left = self.left.saturating_sub(1);
        }
        is_first
    }
}

/// Where kept members and elements are written.
pub struct Output<'a> {
    /// Writes the punctuation between them.
    pub writer: &'a mut JsonWriter,
    /// Receives the bytes.
    pub sink: &'a mut dyn Sink,
}

/// A member whose value is a valid scalar, as positions in a text. The colon directly follows the key.
#[derive(Clone, Copy)]
pub struct ScalarMember {
    /// Position of the key's opening quote.
    pub key: usize,
    /// Position of the colon.
    pub colon: usize,
    /// Position of the value's first byte.
    pub value: usize,
    /// Position after the value's last byte.
    pub end: usize,
}

impl Output<'_> {
    /// Writes consecutive members or elements, with the commas between them and without white space.
    #[inline(always)]
    pub fn run(&mut self, text: &[u8], window: &Window, from: usize, to: usize) {
        let Self { writer, sink } = self;
        writer.begin(*sink);
        window.solid_runs(from, to, |from, to| {
            writer.raw(*sink, text.get(from..to).unwrap_or_default());
        });
    }

    /// Writes one member, with another key if there is one.
    #[inline(always)]
    pub fn member(&mut self, text: &[u8], member: ScalarMember, renamed: Option<&[u8]>) {
        let Self { writer, sink } = self;
        let ScalarMember { key, colon, value, end } = member;
        if renamed.is_none() && colon + 1 == value {
            writer.member(*sink, text, key, end);
            return;
        }
        let (from, of, to) = match renamed {
            Some(name) => (name, 0, name.len()),
            None => (text, key, colon),
        };
        writer.member(*sink, from, of, to);
        writer.raw(*sink, b":");
        writer.raw(*sink, text.get(value..end).unwrap_or_default());
    }
}
