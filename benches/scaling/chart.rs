//! Draws a series: both axes are logarithmic, so that its slope is that of the line.

use std::error::Error;
use std::path::Path;

use plotters::prelude::{
    ChartBuilder, Circle, IntoDrawingArea, IntoLogRange, LineSeries, SVGBackend, TRANSPARENT,
};
use plotters::style::{Color, RGBColor, ShapeStyle};

use crate::series::Series;
use crate::{Point, duration};

const SIZE: (u32, u32) = (640, 360);
/// Readable on a light page and on a dark one.
const LINE: RGBColor = RGBColor(38, 132, 199);
const TEXT: RGBColor = RGBColor(128, 128, 128);

/// Writes the plot of a series to a folder.
pub(crate) fn draw(
    folder: &Path,
    series: &Series,
    points: &[Point],
    slope: f64,
) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("{}.svg", series.name.replace(' ', "-")));
    let ends = |of: fn(&Point) -> f64| {
        let values = points.iter().map(of);
        let (least, most) = values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        least / 1.5..most * 1.5
    };
    let area = SVGBackend::new(&path, SIZE).into_drawing_area();
    area.fill(&TRANSPARENT)?;
    let text = ("sans-serif", 14, &TEXT);
    let title = format!("{}: slope {slope:.2}, at most {:.0}", series.name, series.grows.slope());
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 18, &TEXT))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(
            ends(|point| point.amount).log_scale(),
            ends(|point| point.seconds).log_scale(),
        )?;
    chart
        .configure_mesh()
        .axis_style(TEXT)
        .label_style(text)
        .bold_line_style(TEXT.mix(0.3))
        .light_line_style(TRANSPARENT)
        .x_desc(series.unit)
        .y_label_formatter(&|seconds| duration(*seconds))
        .draw()?;
    let places = || points.iter().map(|point| (point.amount, point.seconds));
    chart.draw_series(LineSeries::new(places(), ShapeStyle::from(LINE).stroke_width(2)))?;
    chart.draw_series(places().map(|place| Circle::new(place, 3, LINE.filled())))?;
    area.present()?;
    Ok(())
}
