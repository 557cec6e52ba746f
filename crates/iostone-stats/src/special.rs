//! The few special functions that the tests here need: error function, incomplete gamma and beta, binomial sums.
//!
//! The algorithms are the classical ones (Abramowitz and Stegun, *Handbook of Mathematical Functions*, 6.5.29,
//! 6.5.31 and 26.5.8; Lanczos 1964 for the logarithm of gamma), good to about 1e-13 in the ranges used.

#![expect(clippy::many_single_char_names, reason = "the letters are those of the formulas cited")]

/// Terms after which a series or continued fraction is taken as it is; none of the arguments here needs half as many.
const MOST_TERMS: u32 = 2000;
const TINY: f64 = 1e-300;
const PRECISION: f64 = 1e-16;

/// Natural logarithm of the gamma function for `x > 0`, by the Lanczos approximation (g = 7, nine terms).
pub(crate) fn ln_gamma(x: f64) -> f64 {
    const FIRST: f64 = 0.999_999_999_999_809_9;
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = TERMS.iter().zip(1u32..).fold(FIRST, |sum, (term, i)| sum + term / (x + f64::from(i)));
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Upper regularised incomplete gamma function Q(a, x) for `a > 0`, `x >= 0`.
pub(crate) fn gamma_upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        // The power series of the lower function converges fast here.
        let mut term = 1.0 / a;
        let mut sum = term;
        for i in 1..MOST_TERMS {
            term *= x / (a + f64::from(i));
            sum += term;
            if term < sum * PRECISION {
                break;
            }
        }
        return 1.0 - scale * sum;
    }
    // Continued fraction by the modified Lentz method.
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..MOST_TERMS {
        let i = f64::from(i);
        let numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / away_from_zero(numerator * d + b);
        c = away_from_zero(b + numerator / c);
        fraction *= d * c;
        if (d * c - 1.0).abs() < PRECISION {
            break;
        }
    }
    scale * fraction
}

fn away_from_zero(value: f64) -> f64 {
    if value.abs() < TINY { TINY } else { value }
}

/// Two-sided tail of the standard normal law: P(|Z| >= |z|) = erfc(|z| / sqrt 2).
pub(crate) fn normal_two_sided(z: f64) -> f64 {
    gamma_upper(0.5, z * z / 2.0)
}

/// The `z` with P(|Z| >= z) = `alpha`, by bisection.
pub(crate) fn normal_critical(alpha: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if normal_two_sided(middle) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The number below which a standard normal one lies with chance `p` in (0, 1).
///
/// The rational approximation 26.2.23 of Abramowitz and Stegun, bettered by three steps of Newton.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    if tail <= 0.0 {
        return if p < 0.5 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let t = (-2.0 * tail.ln()).sqrt();
    let mut z = t
        - (2.515_517 + t * (0.802_853 + t * 0.010_328))
            / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    for _ in 0..3 {
        let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let above = if z >= 0.0 { normal_two_sided(z) / 2.0 } else { 1.0 - normal_two_sided(z) / 2.0 };
        z += (above - tail) / density;
    }
    if p < 0.5 { -z } else { z }
}

/// The `t` with P(|T| >= t) = `alpha` under Student's law, by bisection.
pub(crate) fn student_critical(alpha: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if student_two_sided(middle, freedom) > alpha {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Upper tail of the chi-squared law with `freedom` degrees of freedom.
pub(crate) fn chi_squared_upper(x: f64, freedom: f64) -> f64 {
    gamma_upper(freedom / 2.0, x / 2.0)
}

/// Two-sided tail of Student's law with `freedom` degrees of freedom.
pub(crate) fn student_two_sided(t: f64, freedom: f64) -> f64 {
    beta_lower(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// Regularised incomplete beta function `I_x(a, b)`.
fn beta_lower(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let scale = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        scale * beta_fraction(a, b, x) / a
    } else {
        1.0 - scale * beta_fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function, by the modified Lentz method.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..MOST_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for numerator in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + numerator * d);
            c = away_from_zero(1.0 + numerator / c);
            change = d * c;
            fraction *= change;
        }
        if (change - 1.0).abs() < PRECISION {
            break;
        }
    }
    fraction
}

/// P(X <= k) for X binomial with `n` draws of chance `p` in (0, 1).
pub(crate) fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    // Logarithms, because the first term underflows from about a thousand draws on.
    let odds = p.ln() - (-p).ln_1p();
    let mut ln_term = n as f64 * (-p).ln_1p();
    let mut sum = ln_term.exp();
    for i in 0..k.min(n) {
        ln_term += ((n - i) as f64 / (i + 1) as f64).ln() + odds;
        sum += ln_term.exp();
    }
    sum.min(1.0)
}

/// Two-sided sign test: the chance that fair coins fall at least as lopsided as `k` of `n`.
pub(crate) fn sign_test(k: u64, n: u64) -> f64 {
    (2.0 * binomial_cdf(k.min(n - k.min(n)), n, 0.5)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs().max(1e-3)
    }

    #[test]
    fn special_functions_match_published_values() {
        assert!(close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln()));
        assert!(close(ln_gamma(11.0), 3_628_800f64.ln()));
        assert!(close(normal_two_sided(1.959_963_984_540_054), 0.05));
        assert!(close(normal_two_sided(5.0), 5.733_031_437_583_892e-7));
        assert!(close(normal_critical(0.05), 1.959_963_984_540_054));
        assert!(close(normal_quantile(0.975), 1.959_963_984_540_054) && close(normal_quantile(0.5), 0.0));
        assert!(close(normal_quantile(1e-6), -4.753_424_308_822_899));
        // The quartiles of Cauchy's law are -1 and 1.
        assert!(close(student_critical(0.5, 1.0), 1.0));
        // With two degrees of freedom the chi-squared tail is exp(-x/2).
        assert!(close(chi_squared_upper(7.0, 2.0), (-3.5f64).exp()));
        // With one degree of freedom Student's law is Cauchy's: P(|T| >= 1) = 1/2.
        assert!(close(student_two_sided(1.0, 1.0), 0.5));
        // With four: 1 - 2 * 3/8 s (1 - s^2 / 12), s = t / sqrt(1 + t^2 / 4).
        assert!(close(student_two_sided(2.0, 4.0), 1.0 - 0.625 * std::f64::consts::SQRT_2));
        assert!(close(binomial_cdf(1, 9, 0.5), 10.0 / 512.0));
        assert!(close(sign_test(8, 9), 20.0 / 512.0));
        assert!(close(sign_test(3, 6), 1.0));
        assert!(close(binomial_cdf(0, 2, 0.1), 0.81));
    }
}
