//! The order in which observations were made, as far as a dataset tells it.

use iostone_model::dataset::{Dataset, Observation, Order};

use super::conditions::at;

/// Those observations in the order of time; none where that is not known.
///
/// By [`Observation::order`] where every one has its own; by block and place within it where positions start anew in
/// each block; as they stand where the dataset says that they were made so.
pub(super) fn in_time(dataset: &Dataset, members: &[usize]) -> Option<Vec<usize>> {
    sorted(dataset, members, |observation| Some((0.0, observation.order?)))
        .or_else(|| {
            sorted(dataset, members, |observation| Some((observation.block? as f64, observation.order?)))
        })
        .or_else(|| (dataset.order == Order::AsListed).then(|| members.to_vec()))
}

/// The repetitions of one condition in the order of time: as [`in_time`], or by block, or by the number of the run.
pub(super) fn repetitions_in_time(dataset: &Dataset, members: &[usize]) -> Option<Vec<usize>> {
    let run = |observation: &Observation| observation.run.as_deref()?.trim().parse::<f64>().ok();
    in_time(dataset, members)
        .or_else(|| sorted(dataset, members, |observation| Some((0.0, observation.block? as f64))))
        .or_else(|| sorted(dataset, members, |observation| Some((0.0, run(observation)?))))
}

/// Seconds since 1970 are above, positions and seconds of a run below.
const EPOCH: f64 = 1e8;
/// Fewer rows than this are runs, however regularly they were started.
const FEWEST_SAMPLES: usize = 30;
/// This share of the steps between samples are of one length.
const REGULAR: f64 = 0.9;

/// Whether those observations are samples of one thing in time rather than runs: many, at regular moments, and told apart
/// by numbers alone.
pub(super) fn sampled(dataset: &Dataset, members: &[usize], numbers_alone: bool) -> bool {
    if !numbers_alone || members.len() < FEWEST_SAMPLES {
        return false;
    }
    let moment = |place: &usize| at(dataset, *place)?.order.filter(|order| *order > EPOCH);
    let Some(mut moments) = members.iter().map(moment).collect::<Option<Vec<f64>>>() else { return false };
    moments.sort_unstable_by(f64::total_cmp);
    let mut steps: Vec<f64> = moments.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let Some(usual) = steps.get(steps.len() / 2).copied().filter(|step| *step > 0.0) else { return false };
    let regular = steps.iter().filter(|step| (*step / usual - 1.0).abs() < 0.01).count();
    regular as f64 >= REGULAR * steps.len() as f64
}

/// Whether each observation stands in a block.
pub(super) fn blocked(dataset: &Dataset, members: &[usize]) -> bool {
    members.iter().all(|place| at(dataset, *place).is_some_and(|observation| observation.block.is_some()))
}

fn sorted(
    dataset: &Dataset,
    members: &[usize],
    moment: impl Fn(&Observation) -> Option<(f64, f64)>,
) -> Option<Vec<usize>> {
    let mut moments: Vec<((f64, f64), usize)> =
        members.iter().map(|place| Some((moment(at(dataset, *place)?)?, *place))).collect::<Option<_>>()?;
    let compare = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
    moments.sort_by(|a, b| compare(&a.0, &b.0));
    let distinct = moments.windows(2).all(|pair| compare(&pair[0].0, &pair[1].0).is_lt());
    distinct.then(|| moments.into_iter().map(|(_, place)| place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::design::examples::two_conditions;

    #[test]
    fn samples_are_many_regular_and_told_apart_by_numbers() {
        let mut dataset = two_conditions(&[1.0; 40], &[]);
        let all: Vec<usize> = (0..40).collect();
        let mut at = |step: &dyn Fn(f64) -> f64| {
            for (index, row) in dataset.observations.iter_mut().enumerate() {
                row.order = Some(1.7e9 + step(index as f64));
            }
            [true, false].map(|numbers| sampled(&dataset, &all, numbers))
        };
        assert_eq!(at(&|index| 5.0 * index), [true, false]);
        assert_eq!(at(&|index| 61.0 * index + 7.0 * (index * 1.7).sin()), [false, false], "runs");
    }

    #[test]
    fn the_order_is_told_by_moments_then_blocks_then_the_source() {
        let mut dataset = two_conditions(&[1.0, 2.0], &[3.0, 4.0]);
        let all = [0, 1, 2, 3];
        dataset.order = Order::Unknown;
        assert_eq!(in_time(&dataset, &all), None);
        assert_eq!(repetitions_in_time(&dataset, &[0, 1]), Some(vec![0, 1]), "by run");
        dataset.order = Order::AsListed;
        assert_eq!(in_time(&dataset, &all), Some(vec![0, 1, 2, 3]));
        for (observation, order) in dataset.observations.iter_mut().zip([2.0, 1.0, 1.0, 2.0]) {
            observation.order = Some(order);
        }
        assert_eq!(in_time(&dataset, &all), Some(vec![0, 1, 2, 3]), "positions that repeat need blocks");
        for (observation, block) in dataset.observations.iter_mut().zip([0, 1, 0, 1]) {
            observation.block = Some(block);
        }
        assert!(blocked(&dataset, &all));
        assert_eq!(in_time(&dataset, &all), Some(vec![2, 0, 1, 3]));
        for (observation, order) in dataset.observations.iter_mut().zip([9.0, 7.0, 3.0, 4.0]) {
            observation.order = Some(order);
        }
        assert_eq!(in_time(&dataset, &all), Some(vec![2, 3, 1, 0]));
    }
}
