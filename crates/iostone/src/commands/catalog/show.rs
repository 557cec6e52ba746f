//! `iostone catalog show`: everything that is known of an instance type or a volume type.

use std::fmt::Write;

use anyhow::{Result, bail};
use clap::Args;
use iostone_cloud::{Catalogue, Instance, VolumeRow, catalogue};
use iostone_model::diagnostic::nearest;
use iostone_report::clean;
use serde_json::{Value, json};

use super::facts::{self, UNKNOWN};
use super::table::labelled;
use crate::exit_code::ExitCode;
use crate::printer::{Printer, bold};

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// An instance type, as in `c4.large`, or a volume type, as in `gp2` or `azure/premium-ssd`
    #[arg(value_name = "TYPE")]
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn show(arguments: &ShowArguments, printer: &mut Printer) -> Result<ExitCode> {
    let catalogue = catalogue();
    let width = printer.text_style().width;
    if let Ok(instance) = catalogue.instance(&arguments.name) {
        printer.data(&if arguments.json {
            format!("{}\n", serde_json::to_string_pretty(&entry(catalogue, instance)?)?)
        } else {
            instance_text(catalogue, instance, width)
        });
    } else if let Ok(rows) = catalogue.volumes().history(&arguments.name) {
        printer.data(&if arguments.json {
            let name = rows.first().map(|row| row.name.clone());
            let document = json!({ "schema": "iostone/volume-type/1", "name": name, "history": serde_json::to_value(rows)? });
            format!("{}\n", serde_json::to_string_pretty(&document)?)
        } else {
            volume_text(rows, width)
        });
    } else {
        return Err(unknown(catalogue, &arguments.name));
    }
    Ok(ExitCode::Success)
}

/// No such type, with the most similar name.
pub(super) fn unknown(catalogue: &Catalogue, name: &str) -> anyhow::Error {
    let instances = catalogue.instances().map(|instance| instance.name.as_str());
    let near = nearest(name, catalogue.volumes().names().chain(instances));
    let next = near.map_or_else(
        || "`iostone catalog search` lists the types".to_owned(),
        |near| format!("did you mean `{near}`? `iostone catalog search` lists the types"),
    );
    anyhow::anyhow!("no instance or volume type `{}` in the catalogue; {next}", clean(name))
}

/// An instance type as JSON: what is not known is null.
pub(super) fn entry(catalogue: &Catalogue, instance: &Instance) -> Result<Value> {
    let burst = instance.link().and_then(|link| link.burst);
    let prices: Vec<Value> = catalogue
        .regions()
        .iter()
        .filter_map(|region| catalogue.known_price(&instance.name, region).map(|price| (region, price)))
        .map(|(region, price)| json!({ "region": region, "usd_per_hour": price.usd_per_hour, "source": price.source }))
        .collect();
    let Value::Object(mut entry) = json!({
        "schema": "iostone/instance-type/1",
        "name": instance.name,
        "status": instance.status,
        "vcpus": instance.vcpus,
        "memory_bytes": instance.memory.map(|memory| memory.0),
        "architectures": instance.architectures,
        "hypervisor": instance.hypervisor,
        "clock_ghz": instance.clock_ghz,
        "ecu": instance.ecu,
        "ebs_support": instance.ebs_support,
        "ebs": instance.ebs.map(|ebs| json!({
            "baseline_bytes_per_second": ebs.baseline.0,
            "baseline_iops": ebs.baseline_iops,
            "maximum_bytes_per_second": ebs.maximum.0,
            "maximum_iops": ebs.maximum_iops,
            "burst_bucket_bytes": burst.and_then(|burst| burst.credit_bytes).map(|bytes| bytes.0),
            "burst_bucket_ios": burst.and_then(|burst| burst.credits),
            "refill": burst.map(|_| "assumed: refills with the bandwidth unused below the baseline"),
        })),
        "network": instance.network.map(|network| json!({
            "baseline_bytes_per_second": network.baseline.0,
            "peak_bytes_per_second": network.peak.0,
        })),
        "local_disks": instance.disks.as_ref().map(|disks| json!({
            "words": disks.words,
            "count": disks.count,
            "each_bytes": disks.each.map(|each| each.0),
            "kind": disks.kind.map(iostone_cloud::DiskKind::word),
        })),
        "credits": instance.credits().map(|credits| json!({
            "earned_per_hour": credits.earned_per_hour,
            "maximum": credits.maximum,
            "baseline_share": credits.baseline.0,
            "launch": credits.launch,
            "unlimited_by_default": credits.is_unlimited,
        })),
    }) else {
        bail!("`{}` cannot be written as JSON", clean(&instance.name));
    };
    entry.insert("prices".to_owned(), Value::Array(prices));
    entry.insert("source".to_owned(), json!(instance.source));
    entry.insert("date".to_owned(), json!(instance.date));
    entry.insert("user_keys".to_owned(), json!(instance.said.as_ref().map(|said| &said.keys)));
    Ok(Value::Object(entry))
}

fn instance_text(catalogue: &Catalogue, instance: &Instance, width: usize) -> String {
    let facts = facts::of(catalogue, instance);
    let mut lines: Vec<(String, String)> = facts
        .into_iter()
        .map(|fact| (fact.label, fact.words.unwrap_or_else(|| UNKNOWN.to_owned())))
        .collect();
    let mut price_sources: Vec<String> = Vec::new();
    for region in catalogue.regions() {
        if let Some(price) = catalogue.known_price(&instance.name, region) {
            price_sources.push(clean(&price.source));
        }
    }
    if !price_sources.is_empty() {
        lines.push(("prices from".to_owned(), price_sources.join("; ")));
    }
    lines.push(("source".to_owned(), clean(&instance.source)));
    lines.push((
        "as of".to_owned(),
        instance.date.map_or_else(|| UNKNOWN.to_owned(), |date| date.to_string()),
    ));
    let label_width = lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or_default();
    let mut text = format!("{}\n", bold(&clean(&instance.name)));
    for (label, words) in lines {
        text.push_str(&labelled(&label, &words, label_width, width));
    }
    text
}

fn volume_text(rows: &[VolumeRow], width: usize) -> String {
    let name = rows.first().map(|row| clean(&row.name)).unwrap_or_default();
    let mut text = format!("{}\n", bold(&name));
    for (index, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "{}", bold(&row.period(rows.get(index + 1))));
        let known = |words: Option<String>| words.unwrap_or_else(|| UNKNOWN.to_owned());
        let mut lines = vec![
            ("sizes", known(row.sizes())),
            ("IOPS", known(row.iops_words())),
            ("throughput", known(row.throughput_words())),
            ("counts", known(row.accounting_words())),
        ];
        if let Some(latency) = row.latency {
            lines.push(("latency", latency.to_string()));
        }
        if let Some(note) = &row.note {
            lines.push(("note", clean(note)));
        }
        let basis = serde_json::to_value(row.basis).ok().and_then(|value| value.as_str().map(str::to_owned));
        lines.push(("basis", known(basis)));
        lines.push(("source", clean(&row.source)));
        for (label, words) in lines {
            text.push_str(&labelled(label, &words, "throughput".len(), width));
        }
    }
    text
}
