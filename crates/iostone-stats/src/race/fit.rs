//! A parabola through the levels around the best, as a description of the curve: no level is chosen by it.

use iostone_model::metric::Direction;
use iostone_model::verdict::SweepFit;

/// Points of the curve that are given for drawing.
const DRAWN: u32 = 33;

/// A parabola in the logarithms of both axes, or of the figures alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Parabola {
    logarithmic: bool,
    /// The ends of the places it was fitted to, on the axis that it is a parabola of.
    low: f64,
    high: f64,
    /// Where it has its optimum, from 0 to 1 between the ends.
    optimum: f64,
    /// Constant, slope and bend, between the ends.
    terms: [f64; 3],
}

impl Parabola {
    /// What it gives at a position.
    pub(super) fn at(&self, position: f64) -> f64 {
        let place = if self.logarithmic { position.ln() } else { position };
        self.value((place - self.low) / (self.high - self.low))
    }

    fn value(&self, u: f64) -> f64 {
        let [constant, slope, bend] = self.terms;
        (constant + slope * u + bend * u * u).exp()
    }

    /// As it is told and drawn.
    pub(super) fn description(&self) -> SweepFit {
        let back = |u: f64| {
            let place = self.low + (self.high - self.low) * u;
            if self.logarithmic { place.exp() } else { place }
        };
        let drawn = (0..DRAWN).map(|step| f64::from(step) / f64::from(DRAWN - 1));
        SweepFit {
            optimum: back(self.optimum),
            value: self.value(self.optimum),
            points: drawn.map(|u| (back(u), self.value(u))).collect(),
        }
    }
}

/// Fits figures at positions, ascending, by least squares: in the logarithms of both axes, or of the figures alone where a
/// position is not above zero. None with fewer than three, and where the parabola has no optimum between the outermost.
pub(super) fn parabola(places: &[(f64, f64)], direction: Direction) -> Option<Parabola> {
    let (first, last) = (places.first()?.0, places.last()?.0);
    let logarithmic = first > 0.0;
    let axis = |position: f64| if logarithmic { position.ln() } else { position };
    let (low, high) = (axis(first), axis(last));
    let scale = high - low;
    if places.len() < 3 || scale.is_nan() || scale <= 0.0 {
        return None;
    }
    // From 0 to 1, so that the sums stay well apart.
    let points: Vec<(f64, f64)> = places.iter().map(|(x, y)| ((axis(*x) - low) / scale, y.ln())).collect();
    let terms @ [_, slope, bend] = least_squares(&points)?;
    let wanted = match direction {
        Direction::Lower => bend > 0.0,
        Direction::Higher => bend < 0.0,
    };
    let optimum = -slope / (2.0 * bend);
    (wanted && (0.0..=1.0).contains(&optimum)).then_some(Parabola { logarithmic, low, high, optimum, terms })
}

/// The constant, slope and bend of the least-squares parabola, by Cramer's rule.
fn least_squares(points: &[(f64, f64)]) -> Option<[f64; 3]> {
    let power = |exponent: i32| points.iter().map(|(x, _)| x.powi(exponent)).sum::<f64>();
    let moment = |exponent: i32| points.iter().map(|(x, y)| x.powi(exponent) * y).sum::<f64>();
    let s = [power(0), power(1), power(2), power(3), power(4)];
    let t = [moment(0), moment(1), moment(2)];
    let determinant = |m: [[f64; 3]; 3]| {
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    };
    let rows = [[s[0], s[1], s[2]], [s[1], s[2], s[3]], [s[2], s[3], s[4]]];
    let whole = determinant(rows);
    if whole.abs() < 1e-12 {
        return None;
    }
    let with = |column: usize| {
        let mut replaced = rows;
        for (row, value) in replaced.iter_mut().zip(t) {
            row[column] = value;
        }
        determinant(replaced) / whole
    };
    Some([with(0), with(1), with(2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parabola_in_logarithms_is_found_again() {
        let curve = |x: f64| (2.0 + 0.8 * (x.ln() - 0.3f64.ln()).powi(2)).exp();
        let places: Vec<(f64, f64)> = [0.2, 0.3, 0.4, 0.5].map(|x| (x, curve(x))).to_vec();
        let parabola_found = parabola(&places, Direction::Lower).unwrap();
        assert!((parabola_found.at(0.5) / curve(0.5) - 1.0).abs() < 1e-9);
        let fit = parabola_found.description();
        assert!((fit.optimum - 0.3).abs() < 1e-9 && (fit.value - 2f64.exp()).abs() < 1e-9);
        assert!(fit.points.iter().all(|(x, y)| (y / curve(*x) - 1.0).abs() < 1e-9));
        assert_eq!(parabola(&places, Direction::Higher), None);
        assert_eq!(parabola(&places[..2], Direction::Lower), None);
        // The optimum of a falling flank lies beyond it.
        assert_eq!(
            parabola(&places[1..].iter().map(|(x, y)| (*x + 0.5, *y)).collect::<Vec<_>>(), Direction::Higher),
            None
        );
    }
}
