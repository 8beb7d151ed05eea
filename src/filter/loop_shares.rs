//! The share of members and scalar elements that the JSON machine's loops handle, on documents of the benches.
//!
//! Results do not show whether a loop works: the walk does the same, only slower. So these tests count what the loops
//! and the walk handle. A loop that ends too early leaves members to slower code.

use tamis_testkit::data::{SMALL, Shape};

use super::{CallOptions, Filter, Program};
use crate::fast_paths::plain_walk;
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

/// The specs of `benches/jobs`. The shares are the present ones minus two percent, the lengths of runs are nine tenths of
/// the present ones. A member whose value is a container is in no loop, even if the walk does not handle it either: the
/// machine enters, copies or skips the container. Such members are many in `Graphql`, `Numbers` and `Unicode`.
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
            [93, 97, 98, 107],
            [91, 97, 98, 118],
        ),
        row(Pretty, "select", select("object", &repository), [93, 97, 98, 106], [91, 97, 98, 117]),
        row(Issues, "select", select("object", &issue), [88, 97, 98, 34], [73, 97, 98, 37]),
        row(
            Issues,
            "select with body",
            select("object", &body),
            [87, 96, 98, 38],
            [75, 96, 98, 45],
        ),
        row(
            Graphql,
            "select",
            select("data.organization.repositories.nodes", &node),
            [70, 97, 98, 20],
            [60, 97, 98, 15],
        ),
        row(
            Numbers,
            "select",
            select("object", &["id", "label", "score", "at"]),
            [62, 98, 97, 11],
            [62, 98, 98, 11],
        ),
        row(
            Numbers,
            "select array",
            select("object", &["id", "counts"]),
            [63, 98, 97, 11],
            [47, 98, 97, 12],
        ),
        row(
            Unicode,
            "select",
            select("object", &["id", "user.name", "題名", "tags"]),
            [75, 97, 96, 11],
            [47, 97, 96, 10],
        ),
        row(
            Repositories,
            "exclude",
            exclude(&repository_members),
            [93, 96, 98, 123],
            [92, 96, 98, 145],
        ),
        row(
            Issues,
            "exclude",
            exclude(&["labels", "reactions", "url"]),
            [87, 96, 98, 45],
            [84, 96, 98, 47],
        ),
        row(Numbers, "exclude", exclude(&["embedding"]), [64, 98, 97, 11], [64, 98, 97, 11]),
        row(Unicode, "exclude", exclude(&["user", "tags"]), [74, 96, 96, 15], [67, 95, 98, 14]),
        row(Repositories, "drop_nulls", drop_nulls(), [93, 96, 98, 122], [93, 96, 98, 122]),
        row(Pretty, "drop_nulls", drop_nulls(), [93, 96, 98, 121], [93, 96, 98, 121]),
        row(Issues, "drop_nulls", drop_nulls(), [87, 96, 98, 45], [87, 96, 98, 45]),
        row(Numbers, "drop_nulls", drop_nulls(), [64, 98, 97, 11], [64, 98, 97, 11]),
        row(Repositories, "max_items", max_items(), [94, 97, 98, 123], [94, 97, 98, 123]),
        row(Issues, "max_items", max_items(), [88, 97, 98, 45], [88, 97, 98, 45]),
        row(
            Repositories,
            "retain",
            retain(&["/full_name", "/owner/login", "/topics"]),
            [94, 97, 98, 123],
            [93, 97, 98, 144],
        ),
        row(Graphql, "retain", retain(&nested), [70, 97, 98, 20], [65, 97, 98, 26]),
        row(
            Graphql,
            "path",
            Spec::new().extract("data.rateLimit.remaining"),
            [70, 97, 98, 20],
            [0, 98, 98, 0],
        ),
        row(Repositories, "validate", retain(&["/none"]), [94, 97, 98, 123], [92, 97, 98, 146]),
        row(Pretty, "validate", retain(&["/none"]), [94, 97, 98, 122], [93, 97, 98, 144]),
        row(Issues, "validate", retain(&["/none"]), [88, 97, 98, 45], [82, 97, 98, 48]),
        row(Graphql, "validate", retain(&["/none"]), [70, 97, 98, 20], [0, 98, 98, 0]),
        row(Numbers, "validate", retain(&["/none"]), [64, 98, 97, 11], [64, 98, 98, 11]),
        row(Unicode, "validate", retain(&["/none"]), [75, 97, 96, 15], [69, 97, 98, 14]),
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
