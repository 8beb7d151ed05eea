//! Places rectangles whose areas are proportional to weights, as squarified treemaps do.
//!
//! The rows are those of Bruls, Huizing and van Wijk: a row grows while the worst ratio of its sides improves.

/// A rectangle: left, top, width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rectangle {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Returns a rectangle for each weight, in the same order. Weights are in descending order. Together they fill the area if
/// one of them is greater than zero.
pub(super) fn squarify(weights: &[f64], area: Rectangle) -> Vec<Rectangle> {
    let mut placed = Vec::with_capacity(weights.len());
    let mut rest: f64 = weights.iter().sum();
    let mut free = area;
    let mut at = 0;
    while at < weights.len() {
        if rest <= 0.0 || free.width <= 0.0 || free.height <= 0.0 {
            placed.push(Rectangle { width: 0.0, height: 0.0, ..free });
            at += 1;
            continue;
        }
        let scale = free.width * free.height / rest;
        let short = free.width.min(free.height);
        let (mut sum, mut worst) = (0.0, f64::INFINITY);
        let begin = at;
        while let Some(weight) = weights.get(at) {
            let next = sum + weight * scale;
            let first = weights.get(begin).map_or(0.0, |weight| weight * scale);
            let ratio = worst_ratio(first, weight * scale, next, short);
            if ratio > worst {
                break;
            }
            (sum, worst) = (next, ratio);
            at += 1;
        }
        // A weight of zero has no ratio.
        if at == begin {
            at += 1;
        }
        let thick = (sum / short).min(free.width.max(free.height));
        let mut along = 0.0;
        for weight in weights.get(begin..at).unwrap_or_default() {
            let long = if thick > 0.0 { weight * scale / thick } else { 0.0 };
            placed.push(if free.width >= free.height {
                Rectangle { x: free.x, y: free.y + along, width: thick, height: long }
            } else {
                Rectangle { x: free.x + along, y: free.y, width: long, height: thick }
            });
            along += long;
            rest -= weight;
        }
        if free.width >= free.height {
            free = Rectangle { x: free.x + thick, width: free.width - thick, ..free };
        } else {
            free = Rectangle { y: free.y + thick, height: free.height - thick, ..free };
        }
    }
    placed
}

/// Returns the worst ratio of sides in a row, from its largest and smallest area, their sum and the length of the row.
fn worst_ratio(largest: f64, smallest: f64, sum: f64, length: f64) -> f64 {
    let (sum, length) = (sum * sum, length * length);
    (length * largest / sum).max(sum / (length * smallest))
}

#[cfg(test)]
mod tests {
    use super::{Rectangle, squarify};

    #[test]
    fn rectangles_fill_the_area() {
        let area = Rectangle { x: 10.0, y: 20.0, width: 600.0, height: 400.0 };
        for weights in [
            vec![6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0],
            vec![1.0],
            vec![1e9, 1.0, 1.0, 0.0],
            (1..500).rev().map(f64::from).collect(),
        ] {
            let sum: f64 = weights.iter().sum();
            let placed = squarify(&weights, area);
            assert_eq!(placed.len(), weights.len());
            for (weight, one) in weights.iter().zip(&placed) {
                let share = one.width * one.height / (600.0 * 400.0);
                assert!((share - weight / sum).abs() < 1e-6, "{weight}: {one:?}");
                assert!(one.x >= 10.0 - 1e-6 && one.x + one.width <= 610.0 + 1e-6, "{one:?}");
                assert!(one.y >= 20.0 - 1e-6 && one.y + one.height <= 420.0 + 1e-6, "{one:?}");
            }
        }
        assert!(squarify(&[], area).is_empty());
        assert!(squarify(&[0.0, 0.0], area).iter().all(|one| one.width == 0.0));
    }
}
