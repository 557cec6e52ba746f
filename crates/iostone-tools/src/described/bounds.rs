//! What bounds the figures of a described dataset, what was expected of them, and what was compared.

use std::collections::BTreeMap;

use iostone_model::dataset::{Ceiling, Dataset, Prediction};
use iostone_model::metric::{self, Unit};
use iostone_model::units::Fraction;

use super::columns::{amend, direction};
use super::entry::{Entry, Section};
use super::known::{check_label, check_value, check_where, one_of};
use super::tables::unit_of;
use super::{Comparison, DescribedError};

const RATE: &str = "a limit with its unit, as in `500Mbps`";

/// Reads `[metrics]`: which way figures are better, and their titles.
pub(super) fn note_metrics(entry: &Entry<'_>, dataset: &mut Dataset) -> Result<(), DescribedError> {
    for (name, entry) in entry.section()?.entries() {
        let section = entry.section()?;
        section.check_keys(&["better", "title"])?;
        check_metric(&entry, dataset, name)?;
        if let Some(note) = dataset.metrics.get_mut(name) {
            amend(note, &section, metric::find(name).map(|known| known.direction))?;
        }
    }
    Ok(())
}

/// Reads one of `[[ceiling]]`.
pub(super) fn ceiling(section: &Section<'_>, dataset: &Dataset) -> Result<Ceiling, DescribedError> {
    section.check_keys(&["name", "limit", "restated", "metrics", "where", "source"])?;
    let limit = section.required("limit", RATE)?.quantity(None)?;
    let metrics = section.get("metrics");
    let names = metrics.as_ref().map(Entry::texts).transpose()?.unwrap_or_default();
    if let Some(entry) = &metrics {
        for name in &names {
            check_metric(entry, dataset, name)?;
            let unit = unit_of(dataset, name).unwrap_or(Unit::Plain);
            if unit != limit.unit {
                let expected = format!("figures of the limit's unit ({})", crate::import::words(limit.unit));
                return Err(entry.wrong(&expected, format!("`{name}` in {}", crate::import::words(unit))));
            }
        }
    }
    Ok(Ceiling {
        name: section.required("name", "what it is, as in `instance link`")?.text()?,
        restated: section.get("restated").map(|entry| entry.quantity(Some(limit.unit))).transpose()?,
        limit,
        metrics: names,
        applies: applies(section, dataset)?,
        source: section.required("source", "where the limit is known from")?.text()?,
    })
}

/// Reads one of `[[prediction]]`.
pub(super) fn prediction(section: &Section<'_>, dataset: &Dataset) -> Result<Prediction, DescribedError> {
    section.check_keys(&["metric", "expected", "amount", "rate", "where", "source"])?;
    let entry = section.required("metric", "the figure it is about")?;
    let metric = entry.text()?;
    check_metric(&entry, dataset, &metric)?;
    let quantity = |key: &str, unit| section.get(key).map(|entry| entry.quantity(Some(unit))).transpose();
    Ok(Prediction {
        expected: section
            .required("expected", "what was expected, with its unit, as in `59min`")?
            .quantity(unit_of(dataset, &metric))?,
        metric,
        applies: applies(section, dataset)?,
        amount: quantity("amount", Unit::Bytes)?,
        rate: quantity("rate", Unit::BytesPerSecond)?,
        source: section.required("source", "who expected it, and where that stands")?.text()?,
    })
}

/// Reads one of `[[comparison]]`.
pub(super) fn comparison(section: &Section<'_>, dataset: &Dataset) -> Result<Comparison, DescribedError> {
    section
        .check_keys(&["metric", "by", "baseline", "within", "block", "margin", "better", "table", "claim"])?;
    let entry = section.required("metric", "the figure that was compared")?;
    let metric = entry.text()?;
    check_metric(&entry, dataset, &metric)?;
    let by = section.required("by", "the label whose levels were compared")?;
    let label = by.text()?;
    check_label(&by, dataset, &label)?;
    let baseline = section.required("baseline", "the level that the others were held against")?;
    let level = baseline.word()?;
    check_value(&baseline, dataset, &label, &level)?;
    let table = section.get("table");
    let named = table.as_ref().map(Entry::text).transpose()?;
    if let (Some(entry), Some(name)) = (&table, &named) {
        let mut tables: Vec<&str> =
            dataset.observations.iter().map(|observation| observation.table.as_str()).collect();
        tables.dedup();
        if !tables.contains(&name.as_str()) {
            return Err(entry.unexpected(&one_of("the name of a table", name, &tables)));
        }
    }
    let label_of = |entry: Entry<'_>| {
        entry.text().and_then(|label| check_label(&entry, dataset, &label).map(|()| label))
    };
    let within = |entry: Entry<'_>| {
        let labels = entry.texts()?;
        labels.iter().try_for_each(|label| check_label(&entry, dataset, label))?;
        Ok(labels)
    };
    for key in ["within", "block"] {
        let Some(entry) = section.get(key) else { continue };
        let labels = if key == "block" { vec![entry.text()?] } else { entry.texts()? };
        if labels.contains(&label) {
            return Err(entry.wrong("another label than `by` compares", format!("`{label}`")));
        }
    }
    let noted = dataset.metrics.get(&metric).and_then(|note| note.better);
    let better = section.get("better").map(|entry| direction(&entry)).transpose()?.or(noted);
    Ok(Comparison {
        better: better.ok_or_else(|| section.missing("better", "`higher` or `lower`"))?,
        metric,
        by: label,
        baseline: level,
        within: section.get("within").map(within).transpose()?.unwrap_or_default(),
        block: section.get("block").map(label_of).transpose()?,
        margin: section.get("margin").map(|entry| margin(&entry)).transpose()?,
        table: named,
        claim: section.text("claim")?,
    })
}

fn margin(entry: &Entry<'_>) -> Result<f64, DescribedError> {
    let share = entry.text()?.parse::<Fraction>().ok().map(|share| share.0);
    share.filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(|| entry.unexpected("a share, as in `3%`"))
}

fn applies(section: &Section<'_>, dataset: &Dataset) -> Result<BTreeMap<String, String>, DescribedError> {
    let Some(entry) = section.get("where") else {
        return Ok(BTreeMap::new());
    };
    let applies = entry.words()?;
    check_where(&entry, dataset, &applies)?;
    Ok(applies)
}

/// Refuses a figure that no observation has.
fn check_metric(entry: &Entry<'_>, dataset: &Dataset, name: &str) -> Result<(), DescribedError> {
    if dataset.metrics.contains_key(name) {
        return Ok(());
    }
    let known: Vec<&str> = dataset.metrics.keys().map(String::as_str).collect();
    Err(entry.wrong(&one_of("a figure", name, &known), format!("`{name}`")))
}
