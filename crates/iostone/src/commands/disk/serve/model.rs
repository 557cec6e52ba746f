//! From the options to the volume of an experiment, which is checked as one.

use std::fmt::Write;

use anyhow::{Result, bail};
use iostone_model::experiment::{
    Burst, EmulatedVolume, ErrorFault, Fault, FaultyOperation, LatencySpread, StallFault, VolatileCache, read,
};
use iostone_model::units::Bytes;
use serde_json::Value;

use super::arguments::{FaultArguments, LimitArguments, ServeArguments};

/// The volume that the options describe.
///
/// # Errors
/// Everything that an experiment file with such a volume would be refused for.
pub(super) fn of(arguments: &ServeArguments, size_bytes: u64) -> Result<EmulatedVolume> {
    let latencies = &arguments.latencies;
    let limits = &arguments.limits;
    let model = EmulatedVolume {
        iops: limits.iops,
        throughput: limits.throughput,
        io_size: limits.io_size,
        merge: limits.merge,
        burst: burst_of(limits),
        latency: latencies.latency,
        write_latency: latencies.write_latency,
        flush_latency: latencies.flush_latency,
        latency_spread: latencies.latency_spread.map(LatencySpread::from),
        cache: latencies.cache.map(|size| VolatileCache { size }),
        faults: faults_of(&arguments.faults),
        ..EmulatedVolume::new(Bytes(size_bytes))
    };
    check(&model)?;
    Ok(model)
}

fn burst_of(limits: &LimitArguments) -> Option<Burst> {
    let burst = Burst {
        iops: limits.burst_iops,
        credits: limits.burst_credits,
        throughput: limits.burst_throughput,
        credit_bytes: limits.burst_credit_bytes,
        start: limits.burst_start,
    };
    let is_none =
        burst == Burst { iops: None, credits: None, throughput: None, credit_bytes: None, start: None };
    (!is_none).then_some(burst)
}

fn faults_of(arguments: &FaultArguments) -> Vec<Fault> {
    let mut faults = Vec::new();
    let FaultArguments { error_offset, error_length, error_on, error_share, stall_every, stall_lasts } =
        arguments;
    if error_offset.is_some() || error_length.is_some() || error_on.is_some() || error_share.is_some() {
        faults.push(Fault::Error(ErrorFault {
            offset: error_offset.unwrap_or_default(),
            length: *error_length,
            on: error_on.map(FaultyOperation::from),
            share: *error_share,
        }));
    }
    if let (Some(every), Some(lasts)) = (*stall_every, *stall_lasts) {
        faults.push(Fault::Stall(StallFault { every, lasts }));
    }
    faults
}

/// Has the volume checked where experiments are: in the smallest experiment with such a volume.
fn check(model: &EmulatedVolume) -> Result<()> {
    let Value::Object(mut keys) = serde_json::to_value(model)? else { return Ok(()) };
    keys.insert("kind".to_owned(), Value::from("emulated"));
    let text = format!(
        "name = \"disk\"\n[stack]\nvolume = {}\n[workload]\nkind = \"io\"\nrw = \"randread\"\nbs = \"4KiB\"\n\
         runtime = \"1s\"\n[decide]\nmetric = \"iops\"\nbaseline = \"only\"\n",
        toml_of(&Value::Object(keys))
    );
    let Err(diagnostics) = read(&text, &[]) else { return Ok(()) };
    let about_volume = text.find("volume = ").zip(text.find("\n[workload]"));
    let mut said = String::new();
    for diagnostic in &diagnostics {
        // Whatever else the little experiment may lack is nobody's concern here.
        let label = diagnostic.labels.first();
        let is_ours = label
            .zip(about_volume)
            .is_some_and(|(label, (start, end))| label.span.start >= start && label.span.end <= end);
        if is_ours {
            let line_break = if said.is_empty() { "" } else { "\n" };
            let _ = write!(said, "{line_break}{}", diagnostic.message);
            let hint = label.map_or("", |label| label.text.as_str());
            if !hint.is_empty() {
                let _ = write!(said, " ({hint})");
            }
        }
    }
    if said.is_empty() { Ok(()) } else { bail!(in_options(&said)) }
}

/// The keys that the messages of the check name, as what was typed here; longer ones first.
const KEYS: &[(&str, &str)] = &[
    ("`iops` and `credits` of a burst", "`--burst-iops` and `--burst-credits`"),
    ("`throughput` and `credit_bytes` of a burst", "`--burst-throughput` and `--burst-credit-bytes`"),
    (
        "`iops` and `credits`, or `throughput` and `credit_bytes`",
        "`--burst-iops` and `--burst-credits`, or `--burst-throughput` and `--burst-credit-bytes`",
    ),
    ("`volume.iops`", "`--iops`"),
    ("`volume.throughput`", "`--throughput`"),
    ("`burst.iops`", "`--burst-iops`"),
    ("`burst.throughput`", "`--burst-throughput`"),
    ("`merge`", "`--merge`"),
    ("`io_size`", "`--io-size`"),
    ("`cache`", "`--cache`"),
];

fn in_options(message: &str) -> String {
    KEYS.iter().fold(message.to_owned(), |text, (key, option)| text.replace(key, option))
}

/// A value of JSON as TOML writes it within a line; what is null is left out there.
fn toml_of(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries = entries.iter().filter(|(_, value)| !value.is_null());
            let entries: Vec<String> =
                entries.map(|(key, value)| format!("{key} = {}", toml_of(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(toml_of).collect::<Vec<_>>().join(", ")),
        // Strings of units, names of kinds, numbers and switches: JSON writes them as TOML does.
        simple => simple.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostone_model::units::ByteRate;

    #[test]
    fn a_volume_that_makes_sense_passes_and_the_others_say_why() {
        let mut model = EmulatedVolume::new(Bytes(1 << 30));
        model.iops = Some(3000);
        model.throughput = Some(ByteRate(40_000_000));
        model.burst = Some(Burst {
            iops: Some(6000),
            credits: Some(1000),
            throughput: None,
            credit_bytes: None,
            start: None,
        });
        check(&model).unwrap();
        model.iops = None;
        let error = check(&model).unwrap_err().to_string();
        assert!(error.contains("a burst needs a baseline rate (add `--iops`)"), "{error}");
        model.burst = None;
        model.merge = true;
        let error = check(&model).unwrap_err().to_string();
        assert!(error.contains("`--merge` needs `--io-size`"), "{error}");
        model.merge = false;
        model.iops = Some(0);
        let error = check(&model).unwrap_err().to_string();
        assert!(error.contains("a volume of 0 IOPS never answers"), "{error}");
    }
}
