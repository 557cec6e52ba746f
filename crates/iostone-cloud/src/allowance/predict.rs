//! What follows from a simulation for people: how long an allowance lasts, which limit suits it, whether a measurement fits.

#[cfg(test)]
mod tests;

use super::{Demand, LawState, simulate_from};

/// Changes of a law after which it is taken for one that never runs out.
const CHANGES_LOOKED_AT: u32 = 10_000;
/// Steps of limits that are tried: twentieths of a processor.
const LIMITS_TRIED: u32 = 20;
/// A limit that saves less than this share of the time is not worth its name.
const WORTH_SAYING: f64 = 0.03;
/// A measurement this near to a prediction agrees with it: reports round, and machines differ.
const AGREES: f64 = 0.1;
/// A measurement this many times off, either way, is not of what was predicted.
const CONTRADICTS: f64 = 2.0;

/// Seconds after which the law gives less than such work could use, were there no end to the work; none if never.
pub fn runs_out_after(mut state: LawState, demand: &Demand) -> Option<f64> {
    let mut seconds = 0.0;
    for _ in 0..CHANGES_LOOKED_AT {
        let rate = state.rate(demand.processors).min(demand.wanted());
        if state.withholds(rate, demand.wanted()) {
            return Some(seconds);
        }
        let lasts = state.lasts(rate);
        if !lasts.is_finite() {
            return None;
        }
        state.advance(lasts, rate * lasts);
        seconds += lasts;
    }
    None
}

/// The CPU limit, in processors, under which such work would take least, and the seconds it would take; none where that is
/// less than 3 % better than under the limit that it has. Limits of 5, 10 ... 100 % of a processor are tried.
pub fn best_limit(state: &LawState, demand: &Demand) -> Option<(f64, f64)> {
    let seconds =
        |limit: Option<f64>| simulate_from(state.clone(), &Demand { limit, ..*demand }).wall_seconds;
    let own = seconds(demand.limit);
    let tried = (1..=LIMITS_TRIED).map(|step| f64::from(step) / f64::from(LIMITS_TRIED));
    let best =
        tried.map(|limit| (limit, seconds(Some(limit)))).min_by(|one, other| one.1.total_cmp(&other.1))?;
    (best.1 < own * (1.0 - WORTH_SAYING)).then_some(best)
}

/// Whether a measured time fits a predicted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Within a tenth.
    Agrees,
    /// Further off, but less than twofold.
    Differs,
    /// Twofold or more: the law, or what is known of the work, did not hold.
    Contradicts,
}

/// Holds a measured time against a predicted one, both in seconds; gives the ratio measured over predicted with it.
pub fn hold_against(predicted_seconds: f64, measured_seconds: f64) -> (f64, Agreement) {
    let ratio = measured_seconds / predicted_seconds;
    let agreement = match ratio.max(1.0 / ratio) {
        times if times <= 1.0 + AGREES => Agreement::Agrees,
        times if times < CONTRADICTS => Agreement::Differs,
        // Also what is no number: nothing fits a time that never ends.
        _ => Agreement::Contradicts,
    };
    (ratio, agreement)
}
