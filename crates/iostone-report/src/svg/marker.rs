//! The marks of configurations: a colour and, because colours are not seen alike by all, a shape.

use super::number;

/// Colours in the style sheet, `c0` to `c7`: Okabe and Ito's palette (2008), adapted to both themes.
const COLOURS: usize = 8;

/// Shapes as corners on a circle of radius 1, in order of use; the first is the circle itself.
const SHAPES: usize = 12;

/// The class that gives the configuration at `index` its colour.
pub(crate) fn colour_class(index: usize) -> String {
    format!("c{}", index % COLOURS)
}

/// The outline of the mark of the configuration at `index`.
pub(crate) fn path(index: usize, (x, y): (f64, f64), radius: f64) -> String {
    let r = radius;
    match index % SHAPES {
        0 => format!(
            "M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z",
            number(x - r),
            number(y),
            r = number(r),
            d = number(2.0 * r)
        ),
        1 => outline((x, y), r * 0.9, &[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
        2 => outline((x, y), r * 1.25, &[(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]),
        3 => outline((x, y), r * 1.2, &[(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)]),
        4 => outline((x, y), r * 1.2, &[(0.0, 1.0), (1.0, -0.8), (-1.0, -0.8)]),
        5 => outline((x, y), r * 1.1, &PLUS),
        6 => outline((x, y), r * 1.1, &PLUS.map(|(a, b)| ((a - b) * TURN, (a + b) * TURN))),
        7 => outline((x, y), r * 1.2, &[(-1.0, 0.0), (0.8, -1.0), (0.8, 1.0)]),
        8 => outline((x, y), r * 1.2, &[(1.0, 0.0), (-0.8, -1.0), (-0.8, 1.0)]),
        9 => outline((x, y), r * 1.15, &corners(5, 1.0)),
        10 => outline((x, y), r * 1.15, &corners(6, 1.0)),
        _ => outline((x, y), r * 1.35, &corners(10, 0.45)),
    }
}

/// cos 45 degrees.
const TURN: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// An upright cross.
const PLUS: [(f64, f64); 12] = [
    (-0.38, -1.0),
    (0.38, -1.0),
    (0.38, -0.38),
    (1.0, -0.38),
    (1.0, 0.38),
    (0.38, 0.38),
    (0.38, 1.0),
    (-0.38, 1.0),
    (-0.38, 0.38),
    (-1.0, 0.38),
    (-1.0, -0.38),
    (-0.38, -0.38),
];

/// Corners of a regular polygon with one at the top; every second one at `inner` makes a star.
fn corners(count: u32, inner: f64) -> Vec<(f64, f64)> {
    let corner = |index: u32| {
        let angle = std::f64::consts::TAU * f64::from(index) / f64::from(count);
        let radius = if index % 2 == 1 { inner } else { 1.0 };
        (angle.sin() * radius, -angle.cos() * radius)
    };
    (0..count).map(corner).collect()
}

fn outline((x, y): (f64, f64), radius: f64, corners: &[(f64, f64)]) -> String {
    let points: Vec<String> =
        corners.iter().map(|(a, b)| format!("{:.2} {:.2}", x + a * radius, y + b * radius)).collect();
    format!("M{}z", points.join("L"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn twelve_configurations_have_twelve_shapes() {
        let shapes: BTreeSet<String> = (0..12).map(|index| path(index, (0.0, 0.0), 5.0)).collect();
        assert_eq!(shapes.len(), 12);
    }

    #[test]
    fn twenty_four_marks_differ_by_shape_or_colour() {
        let marks: BTreeSet<String> =
            (0..24).map(|index| colour_class(index) + &path(index, (0.0, 0.0), 5.0)).collect();
        assert_eq!(marks.len(), 24);
    }
}
