//! The share of members and scalar elements that the JSON machine's loops handle, on documents of the benches.
//!
//! Results do not show whether a loop works: the walk does the same, only slower. So these tests count what the loops
//! and the walk handle. A loop that ends too early leaves members to slower code.

use serde::Serialize;
use tamis_json::fast_paths::plain_walk;
use tamis_json::test_work::{MachineRoute, RouteCounts, routes};
use tamis_testkit::data::{SMALL, Shape, specs};

use super::{CallOptions, Filter, Program};
use crate::spec::{Spec, Validation};

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

/// Returns the rows. The minimal shares are the present ones minus two percent, the minimal lengths of runs are nine tenths
/// of the present ones. A member whose value is a container is in no loop, even if the walk does not handle it either: the
/// machine enters, copies or skips the container. Such members are many in `Graphql`, `Numbers` and `Unicode`.
fn rows() -> Vec<Row> {
    use Shape::{Graphql, Issues, Numbers, Pretty, Repositories, Unicode};
    let row = |shape, rules, spec, full, structure| {
        let spec = own_spec(&spec);
        Row { shape, rules, spec, full, structure }
    };
    vec![
        row(
            Repositories,
            "select",
            specs::SELECT_REPOSITORIES.spec(),
            [93, 97, 98, 107],
            [91, 97, 98, 118],
        ),
        row(
            Pretty,
            "select",
            specs::SELECT_REPOSITORIES.spec(),
            [93, 97, 98, 106],
            [91, 97, 98, 117],
        ),
        row(Issues, "select", specs::SELECT_ISSUES.spec(), [88, 97, 98, 34], [73, 97, 98, 37]),
        row(
            Issues,
            "select with body",
            specs::SELECT_ISSUES_WITH_BODY.spec(),
            [87, 96, 98, 38],
            [75, 96, 98, 45],
        ),
        row(Graphql, "select", specs::SELECT_GRAPHQL.spec(), [70, 97, 98, 20], [60, 97, 98, 15]),
        row(Numbers, "select", specs::SELECT_NUMBERS.spec(), [62, 98, 97, 11], [62, 98, 98, 11]),
        row(
            Numbers,
            "select array",
            specs::SELECT_NUMBERS_WITH_COUNTS.spec(),
            [63, 98, 97, 11],
            [47, 98, 97, 12],
        ),
        row(Unicode, "select", specs::SELECT_UNICODE.spec(), [75, 97, 96, 11], [47, 97, 96, 10]),
        row(
            Repositories,
            "exclude",
            specs::exclude(Repositories),
            [93, 96, 98, 123],
            [92, 96, 98, 145],
        ),
        row(Issues, "exclude", specs::exclude(Issues), [87, 96, 98, 45], [84, 96, 98, 47]),
        row(Numbers, "exclude", specs::exclude(Numbers), [64, 98, 97, 11], [64, 98, 97, 11]),
        row(Unicode, "exclude", specs::exclude(Unicode), [74, 96, 96, 15], [67, 95, 98, 14]),
        row(Repositories, "drop_nulls", specs::drop_nulls(), [93, 96, 98, 122], [93, 96, 98, 122]),
        row(Pretty, "drop_nulls", specs::drop_nulls(), [93, 96, 98, 121], [93, 96, 98, 121]),
        row(Issues, "drop_nulls", specs::drop_nulls(), [87, 96, 98, 45], [87, 96, 98, 45]),
        row(Numbers, "drop_nulls", specs::drop_nulls(), [64, 98, 97, 11], [64, 98, 97, 11]),
        row(Repositories, "max_items", specs::max_items(), [94, 97, 98, 123], [94, 97, 98, 123]),
        row(Issues, "max_items", specs::max_items(), [88, 97, 98, 45], [88, 97, 98, 45]),
        row(
            Repositories,
            "retain",
            specs::retain(specs::RETAIN_REPOSITORIES),
            [94, 97, 98, 123],
            [93, 97, 98, 144],
        ),
        row(
            Graphql,
            "retain",
            specs::retain(specs::RETAIN_GRAPHQL),
            [70, 97, 98, 20],
            [65, 97, 98, 26],
        ),
        row(Graphql, "path", specs::extract(), [70, 97, 98, 20], [0, 98, 98, 0]),
        row(Repositories, "validate", specs::validate(), [94, 97, 98, 123], [92, 97, 98, 146]),
        row(Pretty, "validate", specs::validate(), [94, 97, 98, 122], [93, 97, 98, 144]),
        row(Issues, "validate", specs::validate(), [88, 97, 98, 45], [82, 97, 98, 48]),
        row(Graphql, "validate", specs::validate(), [70, 97, 98, 20], [0, 98, 98, 0]),
        row(Numbers, "validate", specs::validate(), [64, 98, 97, 11], [64, 98, 98, 11]),
        row(Unicode, "validate", specs::validate(), [75, 97, 96, 15], [69, 97, 98, 14]),
    ]
}

/// Converts a spec of the testkit, whose `Spec` is that of another build of this library.
fn own_spec(spec: &impl Serialize) -> Spec {
    let text = serde_json::to_string(spec).unwrap();
    serde_json::from_str(&text).unwrap()
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
