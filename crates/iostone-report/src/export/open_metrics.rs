//! The text format of `OpenMetrics` 1.0 (<https://prometheus.io/docs/specs/om/open_metrics_spec/>): a gauge for each metric, a
//! sample for each figure. It has no times, because scrapers refuse samples of long ago.

use std::collections::BTreeMap;
use std::fmt::Write;

use iostone_model::metric::Unit;

use super::Exported;

/// A family: its unit, its help, and its samples.
struct Family {
    unit: &'static str,
    help: String,
    samples: String,
}

pub(super) fn write(run: &Exported<'_>) -> String {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for observation in &run.dataset.observations {
        let condition = run.condition(observation);
        for (metric, figure) in &observation.figures {
            // A point of a curve is a label, or each would be a family.
            let (base, point) = metric.split_once('@').unwrap_or((metric, ""));
            let unit = unit_word(run.dataset.unit_of(metric));
            let mut labels = vec![
                ("experiment".to_owned(), run.experiment),
                ("host".to_owned(), run.host),
                ("run".to_owned(), run.directory),
                ("configuration".to_owned(), condition.as_str()),
            ];
            labels.extend(observation.run.as_deref().map(|trial| ("trial".to_owned(), trial)));
            let block = observation.block.map(|block| block.to_string());
            labels.extend(block.as_deref().map(|block| ("block".to_owned(), block)));
            labels.extend(
                Some(point).filter(|point| !point.is_empty()).map(|point| ("point".to_owned(), point)),
            );
            let factors = run.dataset.factors.iter();
            labels.extend(factors.filter_map(|factor| {
                Some((format!("factor_{}", plain(factor)), observation.labels.get(factor)?.as_str()))
            }));
            let labels: Vec<String> = labels
                .iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| format!("{name}=\"{}\"", escape(value)))
                .collect();
            let name = family_name(base, unit);
            let family = families.entry(name.clone()).or_insert_with(|| Family {
                unit,
                help: run.dataset.metrics.get(metric).map(|note| note.title.clone()).unwrap_or_default(),
                samples: String::new(),
            });
            let _ = writeln!(family.samples, "{name}{{{}}} {}", labels.join(","), figure.value);
        }
    }
    let mut text = String::new();
    for (name, family) in &families {
        let _ = writeln!(text, "# TYPE {name} gauge");
        if !family.unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {}", family.unit);
        }
        let _ = writeln!(text, "# HELP {name} {}", escape(&family.help));
        text.push_str(&family.samples);
    }
    text.push_str("# EOF\n");
    text
}

/// The name of a family ends with its unit.
fn family_name(metric: &str, unit: &str) -> String {
    let name = format!("iostone_{}", plain(metric));
    if unit.is_empty() || name.ends_with(&format!("_{unit}")) { name } else { format!("{name}_{unit}") }
}

fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => "bytes_per_second",
        Unit::PerSecond => "per_second",
        Unit::Seconds => "seconds",
        Unit::Bytes => "bytes",
        Unit::Share => "ratio",
        Unit::Plain => "",
    }
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
