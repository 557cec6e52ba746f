//! What bound the figures of a dataset: each condition held against the ceilings that its author states and those that the
//! catalogue knows of its instance and volumes at its date, and what the catalogue would have predicted.

pub(crate) mod io;

use std::collections::BTreeMap;

use iostone_cloud::explain::{
    Flow, Known, Measured, Overrides, RateShape, beside, bounds_of, dirty_share, hold, known_of, latest,
    undoubted,
};
use iostone_cloud::{CacheUse, Catalogue, FilesystemKind, Question, Work, catalogue, predict};
use iostone_model::ceiling::{ALLOWANCE, Ceiling};
use iostone_model::cloud::CeilingKind;
use iostone_model::dataset::{self, Dataset, Observation};
use iostone_model::experiment::Basis;
use iostone_model::explanation::{
    EXPLANATION_SCHEMA, ExplainedFigure, ExplainedPart, Explanation, PredictedFigure,
};
use iostone_model::median::median;
use iostone_model::metric::Unit;
use iostone_model::units::{Bytes, Fraction};

use crate::rule::traffic::{self, Traffic};

/// Holds every condition of a dataset against what is known.
pub fn explain_dataset(dataset: &Dataset, overrides: &Overrides) -> Explanation {
    let catalogue = catalogue();
    let conditions = conditions(dataset);
    let mut predictions = Vec::new();
    let mut parts = Vec::new();
    let mut unheld: Vec<String> = Vec::new();
    for (name, observations) in &conditions {
        let part = part(catalogue, dataset, name, observations, overrides);
        if part.figures.is_empty() {
            for note in part.notes {
                if !unheld.contains(&note) {
                    unheld.push(note);
                }
            }
        } else {
            parts.push(part);
        }
        predictions.extend(prediction(catalogue, name, observations, overrides));
    }
    let mut notes = shared_notes(&mut parts);
    notes.extend(unheld);
    if !parts.iter().any(|part| part.figures.iter().any(|figure| !figure.ceilings.is_empty())) {
        let is_named = conditions.iter().filter_map(|(_, observations)| observations.first()).any(|first| {
            let known = known(first, overrides);
            known.instance.is_some() || known.volumes.is_some()
        });
        let says_why = !notes.is_empty() || parts.iter().any(|part| !part.notes.is_empty());
        notes.extend(match (is_named, says_why) {
            (false, _) => Some(
                "nothing is known of the ceilings of these figures: name the machine with the facts `instance`, `volume` and \
                 `date`, or with `--instance` and `--volume`"
                    .to_owned(),
            ),
            (true, false) => Some(
                "none of these figures has a ceiling that is known: those are of bytes a second and of I/Os a second".to_owned(),
            ),
            (true, true) => None,
        });
    }
    Explanation {
        schema: EXPLANATION_SCHEMA.to_owned(),
        source: dataset.name.clone(),
        rehearsal: false,
        parts,
        predictions,
        notes,
    }
}

/// What is said of every part is said once.
fn shared_notes(parts: &mut [ExplainedPart]) -> Vec<String> {
    let Some(first) = parts.first() else { return Vec::new() };
    let shared: Vec<String> = first
        .notes
        .iter()
        .filter(|note| parts.len() > 1 && parts.iter().all(|part| part.notes.contains(note)))
        .cloned()
        .collect();
    for part in parts {
        part.notes.retain(|note| !shared.contains(note));
    }
    shared
}

/// Observations of one condition of one table, in the order of the source.
fn conditions(dataset: &Dataset) -> Vec<(String, Vec<&Observation>)> {
    let mut conditions: Vec<(String, Vec<&Observation>)> = Vec::new();
    for observation in &dataset.observations {
        let mut name = observation.condition(&dataset.factors);
        if name.is_empty() {
            name = observation.place();
        }
        if !observation.table.is_empty() && several_tables(dataset) {
            name = format!("{}: {name}", observation.table);
        }
        match conditions.iter_mut().find(|(known, _)| *known == name) {
            Some((_, own)) => own.push(observation),
            None => conditions.push((name, vec![observation])),
        }
    }
    conditions
}

fn several_tables(dataset: &Dataset) -> bool {
    let first = dataset.observations.first().map(|observation| &observation.table);
    dataset.observations.iter().any(|observation| Some(&observation.table) != first)
}

/// The machine of an observation as its facts name it, with what the user says over it.
pub(crate) fn known(observation: &Observation, overrides: &Overrides) -> Known {
    let facts = &observation.facts;
    let recorded = Known {
        instance: facts.instance.clone(),
        instance_from: facts.instance.as_ref().map(|_| "the fact `instance`".to_owned()),
        volumes: facts.volume.clone(),
        date: facts.date,
    };
    known_of(recorded, overrides)
}

fn part(
    catalogue: &Catalogue,
    dataset: &Dataset,
    name: &str,
    observations: &[&Observation],
    overrides: &Overrides,
) -> ExplainedPart {
    let mut part = ExplainedPart {
        configuration: name.to_owned(),
        trials: u32::try_from(observations.len()).unwrap_or(u32::MAX),
        ..ExplainedPart::default()
    };
    let Some(first) = observations.first() else { return part };
    let known = known(first, overrides);
    let mut metrics: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (metric, value, _) in observations.iter().flat_map(|observation| traffic::rates(dataset, observation))
    {
        metrics.entry(metric).or_default().push(value);
    }
    for (metric, values) in metrics.into_iter().filter(|(metric, _)| !io::is_repeated(first, metric)) {
        let Some(value) = median(values) else { continue };
        let (figure, notes) = held(catalogue, dataset, first, &known, metric, value);
        for note in notes {
            if !part.notes.contains(&note) {
                part.notes.push(note);
            }
        }
        part.figures.extend(figure);
    }
    part.instance = known.instance.filter(|_| !part.figures.is_empty());
    part.instance_from = known.instance_from.filter(|_| part.instance.is_some());
    part.volumes = known.volumes.map(|spec| spec.to_string());
    part.date = known.date.filter(|_| part.instance.is_some() || part.volumes.is_some());
    part
}

/// A figure of an observation held against everything that bounds it; none of a rate that no ceiling is ever known of.
pub(crate) fn held(
    catalogue: &Catalogue,
    dataset: &Dataset,
    observation: &Observation,
    known: &Known,
    metric: &str,
    value: f64,
) -> (Option<ExplainedFigure>, Vec<String>) {
    let measured = measured(catalogue, dataset, observation, known, metric, value);
    let (unit, flow) = (measured.unit, measured.flow);
    let mut notes = Vec::new();
    let mut bounds: Vec<Ceiling> = dataset
        .ceilings
        .iter()
        .filter(|ceiling| ceiling.limit.unit == unit && ceiling.bounds(observation, metric, unit))
        .map(stated)
        .filter(|bound| !is_of_another(bound.kind, observation, known, &mut notes))
        .collect();
    let ios = io::of_figure(observation, metric, flow);
    // What is counted in operations of another kind, seeks say, is not what volumes count; nor what memory took in before them.
    if unit == Unit::BytesPerSecond || (io::is_counted(metric) && ios.are_the_volumes) {
        let rate = RateShape { flow: flow.unwrap_or(Flow::Both), written: 0.5, io: ios.shape, unit };
        let (more, doubts) = bounds_of(catalogue, known, rate);
        notes.extend(doubts);
        notes.extend(ios.assumed.filter(|_| !more.is_empty()));
        for bound in more {
            // What the author states and the catalogue knows is told once, in the catalogue's name.
            let same =
                bounds.iter_mut().find(|own| own.kind == bound.kind && is_same(own.at_most, bound.at_most));
            match same {
                Some(own) => {
                    let source = format!("{}; {}", own.source, undoubted(&bound.source));
                    *own = Ceiling { at_most: own.at_most, basis: own.basis, source, ..bound };
                }
                None => bounds.push(bound),
            }
        }
    }
    if unit == Unit::PerSecond && bounds.is_empty() {
        return (None, notes);
    }
    (Some(hold(&measured, bounds)), notes)
}

/// A figure of an observation with what is known of how it came about.
pub(crate) fn measured(
    catalogue: &Catalogue,
    dataset: &Dataset,
    observation: &Observation,
    known: &Known,
    metric: &str,
    value: f64,
) -> Measured {
    let traffic = traffic::of_figure(observation, metric);
    let facts = &observation.facts;
    let claimed = match traffic {
        Traffic::Read => facts.claimed_read_bytes.zip(facts.served_read_bytes),
        Traffic::Write => facts.claimed_written_bytes.zip(facts.served_written_bytes),
        Traffic::Both | Traffic::Unknown => None,
    };
    // A flush says of reads nothing.
    let flushed = facts.flushed.filter(|flushed| *flushed && traffic.may_write());
    let at_most = traffic::claimed(observation, traffic)
        .into_iter()
        .chain(facts.volume_bytes.map(|bytes| bytes as f64));
    Measured {
        figure: metric.to_owned(),
        unit: dataset.unit_of(metric),
        value,
        seconds: traffic::seconds(observation),
        flow: match traffic {
            Traffic::Read => Some(Flow::Read),
            Traffic::Write => Some(Flow::Write),
            Traffic::Both => Some(Flow::Both),
            Traffic::Unknown => None,
        },
        reached_device: facts.direct.filter(|direct| *direct).or(flushed),
        memory_bytes: memory(catalogue, observation, known),
        dirty_limit: None,
        working_set_bytes: facts.working_set_bytes.map(|bytes| bytes as f64),
        at_most_bytes: at_most.reduce(f64::min),
        claimed_and_served_bytes: claimed.map(|(claimed, served)| (claimed as f64, served as f64)),
        below: None,
        queue_depth: None,
        tolerance: ALLOWANCE,
    }
}

fn is_same(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 0.005
}

/// Whether a ceiling that the author states is of a machine in whose place the user named another, with a note that it is left out.
fn is_of_another(
    kind: Option<CeilingKind>,
    observation: &Observation,
    known: &Known,
    notes: &mut Vec<String>,
) -> bool {
    let facts = &observation.facts;
    let left_out = match kind {
        Some(CeilingKind::Link) => {
            facts.instance.as_ref().filter(|own| known.instance.as_ref() != Some(own)).cloned()
        }
        Some(CeilingKind::Volume | CeilingKind::Array) => {
            facts.volume.as_ref().filter(|own| known.volumes.as_ref() != Some(own)).map(ToString::to_string)
        }
        _ => None,
    };
    let is_left_out = left_out.is_some();
    let note = left_out
        .map(|own| format!("what the source states of {own} is left out, for another is held against"));
    notes.extend(note.filter(|note| !notes.contains(note)));
    is_left_out
}

/// The memory as recorded, or that of the instance, which alone is known of one in the recorded one's place.
fn memory(catalogue: &Catalogue, observation: &Observation, known: &Known) -> Option<f64> {
    let of_instance = || catalogue.instance(known.instance.as_deref()?).ok()?.memory.map(|bytes| bytes.0);
    let facts = &observation.facts;
    let is_own = facts.instance.is_none() || facts.instance == known.instance;
    let stated = facts.memory_bytes.filter(|bytes| *bytes > 0 && is_own);
    stated.or_else(of_instance).map(|bytes| bytes as f64)
}

/// A ceiling as the dataset states it.
pub(crate) fn stated(ceiling: &dataset::Ceiling) -> Ceiling {
    let name = ceiling.name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let kind = if has(&["link", "network"]) {
        Some(CeilingKind::Link)
    } else if has(&["array", "raid"]) {
        Some(CeilingKind::Array)
    } else if has(&["volume", "disk"]) {
        Some(CeilingKind::Volume)
    } else if has(&["source"]) {
        Some(CeilingKind::Source)
    } else {
        None
    };
    let name = format!("{} of the {}", ceiling.limit.text, ceiling.name);
    Ceiling::constant(kind, name, ceiling.limit.value, Basis::Published, ceiling.source.as_str())
}

/// What the catalogue predicts of a condition's bytes, beside the time that they took.
fn prediction(
    catalogue: &Catalogue,
    name: &str,
    observations: &[&Observation],
    overrides: &Overrides,
) -> Option<PredictedFigure> {
    let first = observations.first()?;
    let known = known(first, overrides);
    let measured = median(observations.iter().filter_map(|one| traffic::seconds(one)))?;
    let facts = &first.facts;
    let (read, write) = (facts.claimed_read_bytes.unwrap_or(0), facts.claimed_written_bytes.unwrap_or(0));
    if read + write == 0 || known.instance.is_none() && known.volumes.is_none() {
        return None;
    }
    let buffered = facts.direct != Some(true) && facts.flushed != Some(true) && write > 0;
    let memory = memory(catalogue, first, &known);
    let mut work = Work::sequential(Bytes(read), Bytes(write));
    if buffered {
        work.cache = CacheUse::Buffered { dirty_ratio: Fraction(traffic::DIRTY_SHARE) };
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number of bytes")]
    let memory_bytes = memory.map(|bytes| Bytes(bytes as u64));
    let question = Question {
        instance: known.instance.clone(),
        volumes: known.volumes.clone(),
        filesystem: first.labels.get("filesystem").and_then(|name| FilesystemKind::of(name)),
        memory: memory_bytes,
        ..Question::new(work, known.date.unwrap_or_else(latest))
    };
    let prediction = predict(catalogue, &question).ok()?;
    let dirty = memory.filter(|_| buffered).map(|bytes| dirty_share(bytes, traffic::DIRTY_SHARE));
    beside(name, ("wall_time", Unit::Seconds), &prediction, measured, dirty.as_ref())
}
