//! Writes a benchmark document of about the given size in MB to standard output, for timing whole processes.
//!
//! ```sh
//! cargo run --release --example documents repositories 200 > repositories.json
//! ```

use std::io::Write;

use tamis_testkit::data;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (name, megabytes) = (arguments.next(), arguments.next());
    let shape = data::Shape::ALL.into_iter().find(|shape| Some(shape.name()) == name.as_deref());
    let megabytes = megabytes.and_then(|text| text.parse::<usize>().ok());
    let (Some(shape), Some(megabytes)) = (shape, megabytes) else {
        let names = data::Shape::ALL.map(data::Shape::name).join(" | ");
        return Err(format!("usage: documents {names} MEGABYTES").into());
    };
    std::io::stdout().write_all(&shape.document(megabytes * 1_000_000))?;
    Ok(())
}
