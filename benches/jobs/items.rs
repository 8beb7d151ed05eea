//! Rules that keep most of an item (exclude, drop_nulls), and max_items with the rest read or unread.

use jiter::Jiter;

use crate::data::Shape;
use crate::data::specs::{self, MAX_ITEMS};
use crate::harness::{Floor, Job, Table};

use super::transcode::{self, Rules};
use super::{FULL, STRUCTURE, lazy, tamis_job, tamis_jobs};

pub(super) fn tables() -> Vec<Table> {
    use Shape::{Issues, Numbers, Pretty, Repositories, Unicode};
    vec![
        exclude(Repositories, "9 of 80 members go", (91_372, 0x6BFC_9C4E_7FD5_90E5)),
        exclude(Issues, "the escaped body stays", (110_542, 0x0D58_573D_8CD3_BFD3)),
        exclude(Numbers, "the floats go, the integers stay", (30_163, 0x0DFB_C4E0_67C5_8B04)),
        exclude(Unicode, "the text stays", (101_759, 0x19C4_A60B_B89E_1E49)),
        drop_nulls(Repositories, (123_611, 0x78C1_E606_077B_3B26)),
        drop_nulls(Pretty, (106_725, 0x23AF_F96C_9D98_2080)),
        drop_nulls(Issues, (119_760, 0x3B24_82AD_BCFD_2596)),
        drop_nulls(Numbers, (126_523, 0x3F40_4F95_EA49_591D)),
        max_items(Repositories, (124_448, 0x3B8E_8AA7_A145_44B4)),
        max_items(Issues, (50_561, 0xACB0_099E_012F_3CEF)),
        stop_early(Repositories, (124_448, 0x3B8E_8AA7_A145_44B4)),
        stop_early(Issues, (50_561, 0xACB0_099E_012F_3CEF)),
    ]
}

fn exclude(shape: Shape, what: &'static str, expected: (usize, u64)) -> Table {
    let names = shape.excluded();
    let mut jobs = tamis_jobs(&specs::exclude(shape));
    let rules = Rules { exclude: names, ..Rules::default() };
    let sonic = match shape {
        Shape::Repositories => Some(2.4),
        Shape::Issues => Some(3.0),
        _ => None,
    };
    jobs.extend(transcode::jobs(rules).into_iter().map(|job| match job.name.as_str() {
        "sonic-rs transcode" => job.floor_if(FULL, sonic),
        _ => floor(job),
    }));
    jobs.push(sonic_members(names));
    #[cfg(feature = "bench-simdjson")]
    {
        let floor = match shape {
            Shape::Repositories => Some(1.25),
            Shape::Issues => Some(0.6),
            Shape::Unicode => Some(0.5),
            _ => None,
        };
        jobs.extend(super::simdjson::exclude(names, floor));
    }
    Table { theme: "exclude", what, shape, references: 2, jobs, expected }
}

/// Sets the floors: no mode is slower than serde_json.
fn floor(job: Job) -> Job {
    if job.name.starts_with("serde_json") {
        job.floor(FULL, 1.0).floor(STRUCTURE, 1.0)
    } else {
        job
    }
}

/// Iterates over items and members and copies their texts.
fn sonic_members(names: &'static [&'static str]) -> Job {
    Job::new("sonic-rs lazy members", move |document, output| {
        lazy::wrapped(&[], output, |output| {
            for (index, item) in sonic_rs::to_array_iter(&**document).enumerate() {
                if index > 0 {
                    output.push(b',');
                }
                output.push(b'{');
                let mut first = true;
                for member in item.unwrap().into_object_iter().unwrap() {
                    let (key, value) = member.unwrap();
                    if names.contains(&&*key) {
                        continue;
                    }
                    if !first {
                        output.push(b',');
                    }
                    first = false;
                    output.push(b'"');
                    output.extend_from_slice(key.as_bytes());
                    output.extend_from_slice(b"\":");
                    output.extend_from_slice(value.as_raw_str().as_bytes());
                }
                output.push(b'}');
            }
        });
    })
}

fn drop_nulls(shape: Shape, expected: (usize, u64)) -> Table {
    let mut jobs = tamis_jobs(&specs::drop_nulls());
    let rules = Rules { nulls: true, ..Rules::default() };
    jobs.extend(transcode::jobs(rules).into_iter().map(floor));
    jobs.push(floor(
        Job::new("serde_json Value", |document, output| {
            let mut value = serde_json::from_slice(document).unwrap();
            without_nulls(&mut value);
            serde_json::to_writer(&mut *output, &value).unwrap();
        })
        .same_value(),
    ));
    Table { theme: "drop_nulls", what: "at every depth", shape, references: 2, jobs, expected }
}

fn without_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(elements) => elements.iter_mut().for_each(without_nulls),
        serde_json::Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(without_nulls);
        }
        _ => {}
    }
}

fn max_items(shape: Shape, expected: (usize, u64)) -> Table {
    let mut jobs = tamis_jobs(&specs::max_items());
    let rules = Rules { max_items: MAX_ITEMS, ..Rules::default() };
    jobs.extend(transcode::jobs(rules).into_iter().map(floor));
    let what = "25 items, the rest is read";
    Table { theme: "max_items", what, shape, references: 2, jobs, expected }
}

fn stop_early(shape: Shape, expected: (usize, u64)) -> Table {
    let spec = specs::max_items().stop_early(true);
    let jobs = vec![
        tamis_job("tamis full", &spec, usize::MAX).has_to(Floor::Time(60e-6)),
        tamis_job("tamis full, 64 KiB chunks", &spec, 64 << 10),
        Job::new("sonic-rs lazy items", |document, output| {
            lazy::wrapped(&[], output, |output| {
                for (index, item) in
                    sonic_rs::to_array_iter(&**document).take(MAX_ITEMS).enumerate()
                {
                    if index > 0 {
                        output.push(b',');
                    }
                    output.extend_from_slice(item.unwrap().as_raw_str().as_bytes());
                }
            });
        }),
        Job::new("jiter", |document, output| {
            lazy::wrapped(&[], output, |output| {
                let mut jiter = Jiter::new(document);
                let mut next = jiter.next_array().unwrap();
                for index in 0..MAX_ITEMS {
                    let Some(peek) = next else { break };
                    if index > 0 {
                        output.push(b',');
                    }
                    let start = jiter.current_index();
                    jiter.known_skip(peek).unwrap();
                    output.extend_from_slice(jiter.slice_to_current(start));
                    next = jiter.array_step().unwrap();
                }
            });
        }),
    ];
    let what = "25 items, the rest is not read";
    Table { theme: "stop_early", what, shape, references: 1, jobs, expected }
}
