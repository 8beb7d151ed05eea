//! The table of rules: one row for each field of a [`Spec`], with everything that other modules ask about a rule.
//!
//! A new field does not compile until [`rules!`] lists it, and a new kind does not compile until [`RuleKind::traits`] has
//! a row for it. Nothing else in the library lists all rules.

use super::{Redact, Spec, summary};
use tamis_text::fields::is_default;

/// The part of a document that a rule applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleGroup {
    /// The place of the document: `extract`.
    Source,
    /// The whole document: `retain`, `patches`, `when`.
    Document,
    /// The items.
    Items,
    /// The filtered document.
    Output,
    /// `json_strings`, `content`, `wrap` and `factor`, which belong to no other group.
    Other,
    /// A setting that changes no document unless another rule does.
    Setting,
}

/// The calls that a rule applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Calls {
    /// Only those whose response is filtered in full.
    Filtered,
    /// Failed calls as well.
    Failed,
    /// Failed calls, and those for raw output.
    Raw,
}

/// The stored forms of a result that a rule is part of (`stored.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// All forms.
    All,
    /// Only that without the limits on the length.
    Cut,
    /// None: it is such a limit, or is set for every stored form.
    None,
}

/// Describes a rule for a list of tools, if there is something to say.
pub(super) type Describe = fn(&Spec) -> Option<String>;

/// The properties of a rule.
#[derive(Clone, Copy)]
pub(crate) struct RuleTraits {
    pub(crate) group: RuleGroup,
    /// An author may rely on the rule to keep values from the caller.
    pub(crate) removes: bool,
    pub(crate) calls: Calls,
    pub(crate) stored: Stored,
    /// The part of a summary that describes the rule.
    pub(super) describe: Option<Describe>,
    /// The words of `tamis explain` for a rule on items that holds nothing and has no settings.
    pub(crate) explained: Option<&'static str>,
}

/// Declares the kinds of rules, each with the field of [`Spec`] that has its value.
macro_rules! rules {
    ($($field:ident: $kind:ident),* $(,)?) => {
        /// A rule, or a setting of rules: a field of a [`Spec`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum RuleKind {
            $($kind),*
        }

        impl RuleKind {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$kind),*];

            /// Returns the name of the field.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($field)),*
                }
            }
        }

        impl Spec {
            /// Returns the rules that do not have their default values.
            pub(crate) fn rules(&self) -> impl Iterator<Item = RuleKind> {
                let all = [$((RuleKind::$kind, is_default(&self.$field))),*];
                all.into_iter().filter(|(_, is_default)| !is_default).map(|(rule, _)| rule)
            }

            /// Returns whether one of the rules that do not have their default values is as asked for.
            #[inline]
            fn has_rule(&self, is: impl Fn(RuleKind) -> bool) -> bool {
                false $(|| (is(RuleKind::$kind) && !is_default(&self.$field)))*
            }

            /// Returns a spec with those rules that `keep` returns `true` for.
            pub(crate) fn only(&self, keep: impl Fn(RuleKind) -> bool) -> Self {
                // Has no `..`, so that every field is a kind.
                Self {
                    $($field: if keep(RuleKind::$kind) {
                        self.$field.clone()
                    } else {
                        Default::default()
                    }),*
                }
            }
        }
    };
}

// In the order in which a summary describes them.
rules! {
    retain: Retain,
    select: Select,
    on_kind: OnKind,
    exclude: Exclude,
    omit: Omit,
    extract: Extract,
    requires: Requires,
    json_strings: JsonStrings,
    root: Root,
    conditions: Where,
    max_items: MaxItems,
    text_filter: TextFilter,
    redact: Redact,
    factor: Factor,
    budget: Budget,
    compact: Compact,
    encode: Encode,
    patches: Patches,
    lenient_remove: LenientRemove,
    on_test_failure: OnTestFailure,
    test: Test,
    when: When,
    otherwise: Otherwise,
    siblings: Siblings,
    stop_early: StopEarly,
    drop_nulls: DropNulls,
    drop_empty: DropEmpty,
    omit_base64_over: OmitBase64Over,
    min_items: MinItems,
    omitted: Omitted,
    on_over: OnOver,
    prefer: Prefer,
    content: Content,
    on_error: OnError,
    validation: Validation,
    whitespace: Whitespace,
    duplicate_keys: DuplicateKeys,
    allow_raw: AllowRaw,
    envelope: Envelope,
    foreign: Foreign,
    wrap: Wrap,
    pass: Pass,
}

impl RuleKind {
    /// Returns whether the rule also applies to a document that lacks a path of `requires`.
    pub(crate) const fn is_for_any_shape(self) -> bool {
        let limits = matches!(
            self,
            Self::Budget | Self::MinItems | Self::Omitted | Self::OnOver | Self::Prefer
        );
        limits || matches!(self, Self::DuplicateKeys) || matches!(self.traits().calls, Calls::Raw)
    }

    /// Returns the key of the rule in a manifest.
    pub(crate) const fn written(self) -> &'static str {
        match self {
            Self::Where => "where",
            rule => rule.name(),
        }
    }

    /// Returns the row of a rule.
    pub(crate) const fn traits(self) -> RuleTraits {
        use RuleGroup::{Document, Items, Other, Output, Setting, Source};
        match self {
            Self::Extract => row(Source, false, Calls::Raw, Stored::All, Some(summary::extract)),
            Self::JsonStrings => {
                row(Other, false, Calls::Failed, Stored::All, Some(summary::json_strings))
            }
            // The stored form removes values by their names in the source, in documents of any shape.
            Self::Requires => row(Setting, false, Calls::Filtered, Stored::Cut, None),
            Self::Retain => row(Document, true, Calls::Failed, Stored::All, Some(summary::retain)),
            Self::Patches | Self::When => row(Document, true, Calls::Failed, Stored::All, None),
            Self::LenientRemove | Self::OnTestFailure | Self::Test | Self::Otherwise => {
                row(Setting, false, Calls::Failed, Stored::All, None)
            }
            Self::Root => row(Setting, false, Calls::Failed, Stored::All, Some(summary::root)),
            Self::Siblings => row(Items, false, Calls::Filtered, Stored::All, None),
            Self::Where => row(Items, false, Calls::Filtered, Stored::Cut, Some(summary::items_by)),
            Self::MaxItems => {
                row(Items, false, Calls::Filtered, Stored::None, Some(summary::max_items))
            }
            Self::StopEarly => row(Setting, false, Calls::Filtered, Stored::None, None),
            Self::OnKind => row(Setting, false, Calls::Filtered, Stored::Cut, None),
            Self::Select => row(Items, false, Calls::Filtered, Stored::Cut, Some(summary::select)),
            // Failed calls and stored forms have its paths in the names of the source.
            Self::Exclude => row(Items, true, Calls::Filtered, Stored::Cut, Some(summary::exclude)),
            Self::Omit => row(Items, false, Calls::Filtered, Stored::None, Some(summary::omit)),
            Self::DropNulls => RuleTraits {
                explained: Some(
                    "null members are removed at every depth of an item; elements are kept",
                ),
                ..row(Items, false, Calls::Filtered, Stored::Cut, None)
            },
            Self::DropEmpty => RuleTraits {
                explained: Some(
                    "members that are \"\", [] or {} are removed after all other drops; elements are kept",
                ),
                ..row(Items, false, Calls::Filtered, Stored::Cut, None)
            },
            Self::Wrap => RuleTraits {
                explained: Some("a document that is not an array is wrapped in one"),
                ..row(Other, false, Calls::Filtered, Stored::Cut, None)
            },
            Self::TextFilter => {
                row(Output, false, Calls::Failed, Stored::Cut, Some(summary::text_filter))
            }
            Self::OmitBase64Over => row(Output, false, Calls::Failed, Stored::None, None),
            Self::Redact => row(Output, true, Calls::Raw, Stored::All, Some(summary::redact)),
            // Another form of the output skips it and does not refuse it.
            Self::Factor => row(Other, false, Calls::Filtered, Stored::None, Some(summary::factor)),
            Self::Budget => row(Output, false, Calls::Failed, Stored::None, Some(summary::budget)),
            Self::MinItems | Self::Omitted | Self::OnOver | Self::Prefer => {
                row(Setting, false, Calls::Failed, Stored::None, None)
            }
            Self::Compact => {
                row(Output, false, Calls::Filtered, Stored::None, Some(summary::compact))
            }
            Self::Encode => {
                row(Output, false, Calls::Filtered, Stored::None, Some(summary::encode))
            }
            Self::Content => row(Other, false, Calls::Filtered, Stored::Cut, None),
            // Calls that skip rules keep its value even if it is the default of the rules that they skip.
            Self::OnError => row(Setting, false, Calls::Filtered, Stored::All, None),
            Self::Validation | Self::Whitespace => {
                row(Setting, false, Calls::Raw, Stored::All, None)
            }
            Self::AllowRaw => row(Setting, false, Calls::Raw, Stored::None, None),
            Self::DuplicateKeys | Self::Envelope | Self::Foreign => {
                row(Setting, false, Calls::Failed, Stored::All, None)
            }
            Self::Pass => row(Setting, false, Calls::Filtered, Stored::All, None),
        }
    }
}

const fn row(
    group: RuleGroup,
    removes: bool,
    calls: Calls,
    stored: Stored,
    describe: Option<Describe>,
) -> RuleTraits {
    RuleTraits { group, removes, calls, stored, describe, explained: None }
}

impl Spec {
    /// Returns whether the spec has a rule of a group. An empty `redact` does not count.
    #[inline]
    pub(super) fn has_rule_of(&self, group: RuleGroup) -> bool {
        let is_nothing = self.redact.as_ref().is_some_and(Redact::is_nothing);
        self.has_rule(|rule| {
            rule.traits().group == group && (rule != RuleKind::Redact || !is_nothing)
        })
    }
}
