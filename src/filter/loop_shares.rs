//! The share of members and scalar elements that the JSON machine's loops handle, on documents of the benches.
//!
//! Results do not show whether a loop works: the walk does the same, only slower. So these tests count what the loops
//! and the walk handle. A loop that ends too early leaves members to slower code.

use tamis_testkit::data::{SMALL, Shape};

use super::{CallOptions, Filter, Program};
use crate::json::machine::plain_walk::plain_walk;
use crate::spec::{Siblings, Spec, Validation};
use crate::test_work::{MachineRoute, RouteCounts, routes};

/// Percent of the members that a loop handles, percent of the members that the walk does not handle, percent of the
/// scalar elements that a loop handles, and the average number of members in one run of a loop, in tenths.
type Shares = [u64; 4];

/// A document of the benches and a spec, with the minimal shares under full and under structural validation.
struct Row {
    shape: Shape,
    rules: &'static str,
    spec: Spec,
    full: Shares,
    structure: Shares,
}

/// The specs of `benches/jobs`. Shares under 90 percent are those of the present loops: lower bounds, to be raised when
/// the loops handle more. They are low for windows with backslashes (`Issues`) and for small objects, because the loops
/// leave both, and the last member of each object. Lengths of runs are nine tenths of the present ones.
fn rows() -> Vec<Row> {
    use Shape::{Graphql, Issues, Numbers, Pretty, Repositories, Unicode};
    let row = |shape, rules, spec, full, structure| Row { shape, rules, spec, full, structure };
    let repository = [
        "name",
        "full_name",
        "private",
        "owner.login",
        "html_url",
        "description",
        "updated_at",
        "stargazers_count",
        "language",
        "open_issues_count",
        "default_branch",
    ];
    let issue = ["number", "title", "user.login", "state", "updated_at"];
    let body = ["number", "title", "user.login", "body"];
    let node = ["name", "owner.login", "stargazerCount", "primaryLanguage.name", "updatedAt"];
    let repository_members = [
        "node_id",
        "owner",
        "forks_url",
        "keys_url",
        "events_url",
        "git_url",
        "license",
        "topics",
        "permissions",
    ];
    let nested = [
        "/data/organization/repositories/nodes/name",
        "/data/organization/repositories/nodes/issues/nodes/number",
        "/data/organization/repositories/nodes/issues/nodes/title",
        "/data/organization/repositories/nodes/issues/nodes/comments/nodes/author/login",
        "/data/rateLimit/remaining",
    ];
    let drop_nulls = || Spec::new().root("object").drop_nulls(true);
    let max_items = || Spec::new().root("object").max_items(25);
    vec![
        row(
            Repositories,
            "select",
            select("object", &repository),
            [89, 97, 50, 102],
            [90, 97, 98, 118],
        ),
        row(Pretty, "select", select("object", &repository), [89, 97, 50, 102], [90, 97, 98, 116]),
        row(Issues, "select", select("object", &issue), [34, 96, 98, 20], [0, 97, 98, 0]),
        row(Issues, "select with body", select("object", &body), [29, 96, 98, 21], [0, 96, 98, 0]),
        row(
            Graphql,
            "select",
            select("data.organization.repositories.nodes", &node),
            [55, 97, 98, 16],
            [0, 93, 98, 0],
        ),
        row(
            Numbers,
            "select",
            select("object", &["id", "label", "score", "at"]),
            [48, 98, 97, 13],
            [48, 98, 98, 13],
        ),
        row(
            Numbers,
            "select array",
            select("object", &["id", "counts"]),
            [49, 98, 97, 12],
            [49, 98, 97, 12],
        ),
        row(
            Unicode,
            "select",
            select("object", &["id", "user.name", "題名", "tags"]),
            [42, 97, 48, 10],
            [48, 97, 48, 10],
        ),
        row(
            Repositories,
            "exclude",
            exclude(&repository_members),
            [91, 93, 50, 52],
            [92, 92, 98, 47],
        ),
        row(
            Issues,
            "exclude",
            exclude(&["labels", "reactions", "url"]),
            [32, 40, 98, 32],
            [15, 19, 98, 35],
        ),
        row(Numbers, "exclude", exclude(&["embedding"]), [50, 50, 97, 13], [50, 50, 97, 13]),
        row(Unicode, "exclude", exclude(&["user", "tags"]), [54, 65, 48, 10], [55, 55, 98, 10]),
        row(Repositories, "drop_nulls", drop_nulls(), [91, 91, 50, 74], [91, 91, 50, 74]),
        row(Pretty, "drop_nulls", drop_nulls(), [91, 91, 50, 77], [91, 91, 50, 77]),
        row(Issues, "drop_nulls", drop_nulls(), [0, 0, 98, 0], [0, 0, 98, 0]),
        row(Numbers, "drop_nulls", drop_nulls(), [50, 50, 97, 13], [50, 50, 97, 13]),
        row(Repositories, "max_items", max_items(), [91, 96, 50, 119], [91, 96, 50, 119]),
        row(Issues, "max_items", max_items(), [78, 96, 98, 38], [78, 96, 98, 39]),
        row(
            Repositories,
            "retain",
            retain(&["/full_name", "/owner/login", "/topics"]),
            [89, 97, 50, 103],
            [90, 97, 50, 118],
        ),
        row(Graphql, "retain", retain(&nested), [33, 97, 98, 13], [0, 97, 98, 0]),
        row(
            Graphql,
            "path",
            Spec::new().extract("data.rateLimit.remaining"),
            [57, 97, 98, 16],
            [0, 0, 98, 0],
        ),
        row(Repositories, "validate", retain(&["/none"]), [91, 97, 50, 119], [92, 97, 98, 145]),
        row(Pretty, "validate", retain(&["/none"]), [91, 97, 50, 119], [92, 97, 98, 143]),
        row(Issues, "validate", retain(&["/none"]), [32, 97, 98, 32], [0, 97, 98, 0]),
        row(Graphql, "validate", retain(&["/none"]), [57, 97, 98, 16], [0, 98, 98, 0]),
        row(Numbers, "validate", retain(&["/none"]), [50, 98, 97, 13], [50, 98, 98, 13]),
        row(Unicode, "validate", retain(&["/none"]), [54, 97, 48, 10], [55, 97, 98, 10]),
    ]
}

fn select(root: &str, paths: &[&str]) -> Spec {
    let spec = Spec::new().root(root).siblings(Siblings::Drop);
    paths.iter().fold(spec, |spec, path| spec.select_as(path.replace('.', "_"), *path))
}

fn retain(pointers: &[&str]) -> Spec {
    pointers.iter().fold(Spec::new(), |spec, pointer| spec.retain(*pointer))
}

fn exclude(names: &[&str]) -> Spec {
    names.iter().fold(Spec::new().root("object"), |spec, name| spec.exclude(*name))
}

/// Returns what the loops and the walk handle of a document.
fn run(spec: &Spec, document: &[u8]) -> RouteCounts {
    let program = Program::compile(spec).unwrap();
    routes();
    let mut filter = Filter::new(program.with_options(&CallOptions::new()), Vec::new());
    filter.write(document).unwrap();
    filter.end().unwrap();
    routes()
}

fn shares(spec: &Spec, document: &[u8]) -> Shares {
    let usual = run(spec, document);
    let all = plain_walk(|| run(spec, document));
    let share = |part: u64, all: u64| (part * 100).checked_div(all).unwrap_or(100);
    let of = |counts: RouteCounts, route: MachineRoute| counts[route as usize].members;
    let members = of(all, MachineRoute::WalkMember);
    assert_eq!(of(all, MachineRoute::LoopMember) + of(all, MachineRoute::LoopElement), 0);
    let loops = usual[MachineRoute::LoopMember as usize];
    [
        share(loops.members, members),
        share(members - of(usual, MachineRoute::WalkMember), members),
        share(of(usual, MachineRoute::LoopElement), of(all, MachineRoute::WalkElement)),
        (10 * loops.members).checked_div(loops.runs).unwrap_or(0),
    ]
}

#[test]
fn loops_handle_most_members_of_the_benches() {
    let mut missed = Vec::new();
    for Row { shape, rules, spec, full, structure } in rows() {
        let document = shape.document(SMALL);
        for (validation, least) in [(Validation::Full, full), (Validation::Structure, structure)] {
            let shares = shares(&spec.clone().validation(validation), &document);
            let run = format!("{} {rules}, {validation:?}: {shares:?}", shape.name());
            println!("{run}");
            if shares.iter().zip(least).any(|(share, least)| *share < least) {
                missed.push(format!("{run} of {least:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "loops handle too little: {missed:#?}");
}
