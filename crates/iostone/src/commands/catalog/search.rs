//! `iostone catalog search`: types that fit.

use std::fmt::Write;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use iostone_cloud::{
    Architecture, Catalogue, DEFAULT_REGION, ExchangeFormat, Found, Instance, RangeOf, Rows, Search, SortBy,
    Status, catalogue, write_exchange,
};
use iostone_model::diagnostic::nearest;
use iostone_model::figures::{count, without_zeros};
use iostone_model::units::{ByteRate, Bytes};
use iostone_report::clean;
use serde::Serialize;

use super::facts::megabytes;
use super::table::{Column, fitting};
use crate::exit_code::ExitCode;
use crate::printer::Printer;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct SearchArguments {
    /// Parts of names, or words such as `arm64`, `nitro`, `ssd`, `current`, `burstable`; all must match
    words: Vec<String>,
    /// vCPUs, as in `4`, `4..8`, `4..` or `..8`
    #[arg(long, value_name = "RANGE")]
    vcpus: Option<RangeOf<u32>>,
    /// Memory, as in `16GiB..`
    #[arg(long, value_name = "RANGE")]
    memory: Option<RangeOf<Bytes>>,
    /// Baseline EBS bandwidth, as in `500Mbps..` or `125MB/s..250MB/s`
    #[arg(long, value_name = "RANGE")]
    ebs: Option<RangeOf<ByteRate>>,
    /// Instruction set: `x86_64`, arm64, i386, mac
    #[arg(long, value_name = "NAME", value_parser = architecture)]
    arch: Option<Architecture>,
    /// Region of the prices
    #[arg(long, default_value = DEFAULT_REGION)]
    region: String,
    /// Maximum on-demand price in the region, in US dollars per hour
    #[arg(long, value_name = "USD", value_parser = price, allow_negative_numbers = true)]
    max_price: Option<f64>,
    /// Only types that earn CPU credits
    #[arg(long)]
    burstable: bool,
    /// Only types with instance store disks
    #[arg(long)]
    local_disk: bool,
    /// Generation: current, previous, retired, named
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Option<Status>,
    /// Sort order
    #[arg(long, value_enum, default_value_t = Sort::Name)]
    sort: Sort,
    /// Search volume types instead of instance types; only WORDS select them
    #[arg(long, conflicts_with_all = ["vcpus", "memory", "ebs", "arch", "max_price", "burstable", "local_disk", "status", "csv"])]
    volumes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print a table that `update` reads
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Families by name, each from its smallest type up
    Name,
    /// The cheapest
    Price,
    /// The one with the fewest processors
    Vcpus,
    /// The one with the least memory
    Memory,
    /// The one with the slowest link to EBS
    Ebs,
}

fn architecture(text: &str) -> Result<Architecture> {
    Architecture::of_word(text).ok_or_else(|| anyhow!("expected x86_64, arm64, i386 or mac"))
}

fn status(text: &str) -> Result<Status> {
    let found = Status::ALL.into_iter().find(|status| status.word() == text);
    found.ok_or_else(|| anyhow!("expected current, previous, retired or named"))
}

fn price(text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(usd) if usd.is_finite() && usd > 0.0 => Ok(usd),
        _ => bail!("expected US dollars per hour above 0, as in 0.5"),
    }
}

pub(super) fn search(arguments: &SearchArguments, printer: &mut Printer) -> Result<ExitCode> {
    let catalogue = catalogue();
    if arguments.volumes {
        return volumes(arguments, catalogue, printer);
    }
    if !catalogue.regions().contains(&arguments.region) {
        bail!(
            "the catalogue has no prices for region `{}`, only for {}",
            clean(&arguments.region),
            catalogue.regions().join(", ")
        );
    }
    let found = catalogue.search(&Search {
        words: arguments.words.clone(),
        vcpus: arguments.vcpus,
        memory: arguments.memory,
        ebs: arguments.ebs,
        architecture: arguments.arch,
        max_price: arguments.max_price,
        region: arguments.region.clone(),
        is_burstable: arguments.burstable,
        has_local_disks: arguments.local_disk,
        status: arguments.status,
        sort: match arguments.sort {
            Sort::Name => SortBy::Name,
            Sort::Price => SortBy::Price,
            Sort::Vcpus => SortBy::Vcpus,
            Sort::Memory => SortBy::Memory,
            Sort::Ebs => SortBy::Ebs,
        },
    });
    if arguments.json {
        printer.data(&json(catalogue, &found)?);
    } else if arguments.csv {
        let rows = found.instances.iter().map(|one| (one.name.clone(), catalogue.row(one)));
        let rows = Rows { instance: rows.collect(), ..Rows::default() };
        printer.data(&write_exchange(&rows, ExchangeFormat::Csv));
    } else if !found.instances.is_empty() {
        printer.data(&text(catalogue, &found, &arguments.region, printer.table_width()));
    }
    if found.instances.is_empty() {
        let near = found.nearest.as_ref().map(|name| format!(", did you mean `{name}`?")).unwrap_or_default();
        printer.note(format_args!("none of {} types matches{near}", found.of));
    }
    if found.unknown > 0 {
        printer
            .note(format_args!("{} more may match: a requested property of them is unknown", found.unknown));
    }
    Ok(ExitCode::Success)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    found: usize,
    of: usize,
    unknown: usize,
    nearest: Option<&'a str>,
    user_catalogue: Option<&'a str>,
    instances: Vec<serde_json::Value>,
}

fn json(catalogue: &Catalogue, found: &Found<'_>) -> Result<String> {
    let instances = found.instances.iter().map(|one| super::show::entry(catalogue, one));
    let document = Document {
        schema: "iostone/catalogue-search/1",
        found: found.instances.len(),
        of: found.of,
        unknown: found.unknown,
        nearest: found.nearest.as_deref(),
        user_catalogue: catalogue.user_file(),
        instances: instances.collect::<Result<_>>()?,
    };
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

fn text(catalogue: &Catalogue, found: &Found<'_>, region: &str, width: usize) -> String {
    let column = |head, is_figure, gives_way| Column { head, is_figure, gives_way };
    let columns = [
        column("type", false, 0),
        column("vCPUs", true, 0),
        column("memory", true, 0),
        column("EBS MB/s", true, 0),
        column("30 min", true, 2),
        column("IOPS", true, 3),
        column("USD/h", true, 0),
        column("disks", false, 1),
        column("status", false, 4),
    ];
    let rows: Vec<Vec<String>> = found.instances.iter().map(|one| cells(catalogue, one, region)).collect();
    let (mut text, left_out) = fitting(&columns, &rows, width);
    let _ = writeln!(text, "\n{} of {} types; prices of {region}.", found.instances.len(), found.of);
    if rows.iter().flatten().any(|cell| cell == NOT_KNOWN) {
        let _ = writeln!(text, "{NOT_KNOWN} means unknown.");
    }
    if found.instances.iter().any(|one| one.said.is_some()) {
        let _ =
            writeln!(text, "* is from your catalogue, {}.", clean(catalogue.user_file().unwrap_or_default()));
    }
    if !left_out.is_empty() {
        let _ = writeln!(text, "Not shown, for lack of space: {}.", left_out.join(", "));
    }
    text
}

/// What stands in a table where a fact is not known.
pub(super) const NOT_KNOWN: &str = "?";

pub(super) fn cells(catalogue: &Catalogue, one: &Instance, region: &str) -> Vec<String> {
    let known = |cell: Option<String>| cell.unwrap_or_else(|| NOT_KNOWN.to_owned());
    let burst =
        one.ebs.map(|ebs| if ebs.maximum > ebs.baseline { megabytes(ebs.maximum) } else { "-".to_owned() });
    let mark = if one.said.is_some() { " *" } else { "" };
    vec![
        format!("{}{mark}", clean(&one.name)),
        known(one.vcpus.map(|vcpus| vcpus.to_string())),
        known(
            one.memory
                .map(|memory| format!("{} GiB", without_zeros(memory.0 as f64 / f64::from(1 << 30), 3))),
        ),
        known(one.ebs.map(|ebs| megabytes(ebs.baseline))),
        known(burst),
        known(one.ebs.and_then(|ebs| ebs.baseline_iops).map(|iops| count(iops.into()))),
        known(catalogue.usd_per_hour(&one.name, region).map(|usd| usd.to_string())),
        known(one.disks.as_ref().map(|disks| clean(&disks.words))),
        one.status.word().to_owned(),
    ]
}

fn volumes(arguments: &SearchArguments, catalogue: &Catalogue, printer: &mut Printer) -> Result<ExitCode> {
    let names: Vec<&str> = catalogue.volumes().names().collect();
    let fits = |name: &&str| arguments.words.iter().all(|word| name.contains(&word.to_lowercase()));
    let found: Vec<&str> = names.iter().copied().filter(fits).collect();
    let histories: Vec<_> =
        found.iter().filter_map(|name| Some((*name, catalogue.volumes().history(name).ok()?))).collect();
    if arguments.json {
        let types: Vec<serde_json::Value> = histories
            .iter()
            .map(|(name, rows)| {
                Ok(serde_json::json!({ "name": name, "history": serde_json::to_value(rows)? }))
            })
            .collect::<Result<_>>()?;
        let document = serde_json::json!({
            "schema": "iostone/volume-search/1", "found": types.len(), "of": names.len(), "volumes": types,
        });
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    } else if !histories.is_empty() {
        let column = |head, gives_way| Column { head, is_figure: false, gives_way };
        let columns =
            [column("type", 0), column("IOPS now", 0), column("sizes", 1), column("limits known", 2)];
        let rows: Vec<Vec<String>> = histories
            .iter()
            .filter_map(|(name, rows)| {
                let last = rows.last()?;
                let known =
                    if rows.len() == 1 { String::new() } else { format!("{} rows, the last ", rows.len()) };
                Some(vec![
                    clean(name),
                    last.iops_words().unwrap_or_else(|| NOT_KNOWN.to_owned()),
                    last.sizes().unwrap_or_else(|| NOT_KNOWN.to_owned()),
                    format!("{known}{}", last.period(None)),
                ])
            })
            .collect();
        let (mut text, left_out) = fitting(&columns, &rows, printer.table_width());
        let _ = writeln!(
            text,
            "\n{} of {} volume types; details: `iostone catalog show TYPE`.",
            rows.len(),
            names.len()
        );
        if !left_out.is_empty() {
            let _ = writeln!(text, "Not shown, for lack of space: {}.", left_out.join(", "));
        }
        printer.data(&text);
    }
    if histories.is_empty() {
        let near = arguments.words.iter().find_map(|word| nearest(word, names.iter().copied()));
        let near = near.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default();
        printer.note(format_args!("none of {} volume types matches{near}", names.len()));
    }
    Ok(ExitCode::Success)
}
