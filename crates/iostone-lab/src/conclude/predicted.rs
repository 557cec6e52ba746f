//! What the catalogue's laws predict of each configuration, beside what its trials measured.

use iostone_cloud::explain::beside;
use iostone_cloud::{catalogue, predict_configuration};
use iostone_model::evidence::{Group, RunEvidence};
use iostone_model::explanation::PredictedFigure;
use iostone_model::metric::{self, Unit};

use super::rates::finite_median;

/// A figure for each configuration whose demand is known: the deciding metric where it is a time of the whole work or a rate,
/// else throughput.
pub(super) fn predictions(run: &RunEvidence<'_>) -> Vec<PredictedFigure> {
    let decided = run.plan.experiment.decide.metric.as_str();
    let mut found = Vec::new();
    for Group { configuration, trials } in run.measured() {
        let Ok(prediction) = predict_configuration(catalogue(), configuration) else { continue };
        let kept = prediction.page_cache.as_ref().map(|cached| (cached.bytes, cached.reason.clone()));
        let figure = [decided, "throughput"].into_iter().find_map(|name| {
            let unit = configuration.workload.metric(name).map(|metric| metric.unit)?;
            // Of latencies, which are seconds too, nothing is predicted, nor of what has another name than the whole.
            if !matches!(name, "wall_time" | "throughput" | "iops") || metric::find(name).is_none() {
                return None;
            }
            let measured = finite_median(trials.iter().filter_map(|trial| trial.metrics.get(name).copied()))?;
            let timed = unit == Unit::Seconds && prediction.bytes <= 0.0;
            (!timed)
                .then(|| beside(&configuration.name, (name, unit), &prediction, measured, kept.as_ref()))?
        });
        found.extend(figure);
    }
    found
}
