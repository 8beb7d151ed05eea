//! Types that typed peers deserialise and serialise. Field names and order are those of the output; strings without escapes
//! are borrowed. One type is used for both directions, so that nothing is copied in between.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};

/// A string that is borrowed if possible, also inside an `Option` or a `Vec`, where serde would own a bare `Cow`.
#[derive(Deserialize, Serialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The typed peers: deserialise into `$type` and serialise it.
macro_rules! typed {
    ($type:ty) => {
        [
            Job::new("serde_json typed", |document, output| {
                let value: $type = serde_json::from_slice(document).unwrap();
                serde_json::to_writer(&mut *output, &value).unwrap();
            }),
            Job::new("sonic-rs typed", |document, output| {
                let value: $type = sonic_rs::from_slice(document).unwrap();
                sonic_rs::to_writer(&mut *output, &value).unwrap();
            }),
            Job::new("simd-json typed, with its copy", |document, output| {
                // It unescapes in place and needs its own copy.
                let mut copy = document.to_vec();
                let value: $type = simd_json::from_slice(&mut copy).unwrap();
                serde_json::to_writer(&mut *output, &value).unwrap();
            }),
        ]
    };
}
pub(super) use typed;

/// A nested member that is replaced by one of its own members.
macro_rules! flattened {
    ($name:ident, $member:ident) => {
        #[derive(Deserialize)]
        pub(super) struct $name<'a> {
            #[serde(borrow)]
            $member: Text<'a>,
        }

        impl Serialize for $name<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.$member.serialize(serializer)
            }
        }
    };
}

flattened!(FlatLogin, login);
flattened!(FlatName, name);

/// Structs with borrowed members.
macro_rules! documents {
    ($($name:ident { $($(#[$attribute:meta])* $member:ident: $type:ty,)* })*) => {$(
        #[derive(Deserialize, Serialize)]
        pub(super) struct $name<'a> {
            $($(#[$attribute])* $member: $type,)*
        }
    )*};
}

documents! {
    Repository {
        #[serde(borrow)] name: Text<'a>,
        #[serde(borrow)] full_name: Text<'a>,
        private: bool,
        #[serde(borrow, rename(serialize = "owner_login"))] owner: FlatLogin<'a>,
        #[serde(borrow)] html_url: Text<'a>,
        #[serde(borrow)] description: Option<Text<'a>>,
        #[serde(borrow)] updated_at: Text<'a>,
        stargazers_count: u64,
        #[serde(borrow)] language: Option<Text<'a>>,
        open_issues_count: u64,
        #[serde(borrow)] default_branch: Text<'a>,
    }
    Issue {
        number: u64,
        #[serde(borrow)] title: Text<'a>,
        #[serde(borrow)] user: FlatLogin<'a>,
        #[serde(borrow)] state: Text<'a>,
        #[serde(borrow)] updated_at: Text<'a>,
    }
    IssueWithBody {
        number: u64,
        #[serde(borrow)] title: Text<'a>,
        #[serde(borrow)] user: FlatLogin<'a>,
        #[serde(borrow)] body: Text<'a>,
    }
    Measurement {
        id: u64,
        #[serde(borrow)] label: Text<'a>,
        score: f64,
        at: u64,
    }
    Message {
        id: u64,
        #[serde(borrow)] user: FlatName<'a>,
        #[serde(borrow)] 題名: Text<'a>,
        #[serde(borrow)] tags: Vec<Text<'a>>,
    }
    Answer { #[serde(borrow)] data: Data<'a>, }
    Data { #[serde(borrow)] organization: Organization<'a>, }
    Organization { #[serde(borrow)] repositories: Nodes<'a>, }
    Nodes { #[serde(borrow)] nodes: Vec<Node<'a>>, }
    Node {
        #[serde(borrow)] name: Text<'a>,
        #[serde(borrow)] owner: FlatLogin<'a>,
        #[serde(rename = "stargazerCount")] stargazer_count: u64,
        #[serde(borrow, rename(serialize = "language", deserialize = "primaryLanguage"))] language: FlatName<'a>,
        #[serde(borrow, rename = "updatedAt")] updated_at: Text<'a>,
    }

    // Retained values keep their containers; containers without retained values are removed.
    Login { #[serde(borrow)] login: Text<'a>, }
    RetainedRepository {
        #[serde(borrow)] full_name: Text<'a>,
        #[serde(borrow)] owner: Login<'a>,
        #[serde(borrow)] topics: Vec<Text<'a>>,
    }
    RetainedAnswer { #[serde(borrow)] data: RetainedData<'a>, }
    RetainedData {
        #[serde(borrow)] organization: RetainedOrganization<'a>,
        #[serde(rename = "rateLimit")] rate_limit: RateLimit,
    }
    RetainedOrganization { #[serde(borrow)] repositories: Connection<RetainedNode<'a>>, }
    RetainedNode {
        #[serde(borrow)] name: Text<'a>,
        #[serde(borrow, skip_serializing_if = "Connection::is_empty")] issues: Connection<RetainedIssue<'a>>,
    }
    RetainedIssue {
        number: u64,
        #[serde(borrow)] title: Text<'a>,
        #[serde(borrow, skip_serializing_if = "Connection::is_empty")] comments: Connection<RetainedComment<'a>>,
    }
    RetainedComment { #[serde(borrow)] author: Login<'a>, }
}

#[derive(Deserialize, Serialize)]
pub(super) struct MeasurementWithCounts {
    id: u64,
    counts: Vec<u64>,
}

#[derive(Deserialize, Serialize)]
pub(super) struct Connection<T> {
    nodes: Vec<T>,
}

impl<T> Connection<T> {
    fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

#[derive(Deserialize, Serialize)]
pub(super) struct RateLimit {
    remaining: u64,
}

/// `data.rateLimit.remaining` and nothing else.
#[derive(Deserialize)]
pub(super) struct Remaining {
    data: RemainingData,
}

#[derive(Deserialize)]
struct RemainingData {
    #[serde(rename = "rateLimit")]
    rate_limit: RateLimit,
}

impl Serialize for Remaining {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.data.rate_limit.remaining.serialize(serializer)
    }
}
