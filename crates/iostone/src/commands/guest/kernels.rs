//! `iostone guest kernels`: the kernels that guests can boot.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Result;
use clap::Args;
use iostone_guest::{
    Cache, Flavour, Kernel, ListedKernel, Listing, PackageSpec, fetch_kernel, list_kernels, remove_kernel,
};
use iostone_report::clean;
use serde::Serialize;

use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::{Printer, bold};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct KernelsArguments {
    /// Fetch the newest kernel of a series (`6.1`, `6.12-rt`), or a release (`6.1.0-50-cloud-amd64`); repeatable
    #[arg(long, value_name = "SPEC", num_args = 1.., conflicts_with_all = ["cached", "remove"])]
    fetch: Vec<String>,
    /// Remove kernels from the cache: a series, or a release; repeatable
    #[arg(long, value_name = "SPEC", num_args = 1.., conflicts_with = "refresh")]
    remove: Vec<String>,
    /// Refresh the archive's package lists even if they are recent
    #[arg(long, conflicts_with = "cached")]
    refresh: bool,
    /// List only cached kernels; use no network
    #[arg(long)]
    cached: bool,
    /// List every version and flavour, not only the newest of each series
    #[arg(long)]
    all: bool,
    /// Print JSON, with every version and flavour
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Document {
    schema: &'static str,
    cache: String,
    kernels: Vec<ListedKernel>,
}

/// What `--json` prints after `--fetch` and `--remove`.
#[derive(Debug, Serialize)]
struct Changed {
    schema: &'static str,
    fetched: Vec<Kernel>,
    removed: Vec<String>,
}

const SCHEMA: &str = "iostone/guest-kernels/1";

pub(crate) fn kernels(arguments: &KernelsArguments, printer: &mut Printer) -> Result<ExitCode> {
    let cache = Cache::of_user()?;
    if arguments.fetch.is_empty() && arguments.remove.is_empty() {
        return list(arguments, &cache, printer);
    }
    let read =
        |texts: &[String]| texts.iter().map(|text| text.parse()).collect::<Result<Vec<PackageSpec>, _>>();
    // All are read before the first is acted upon.
    let (to_remove, to_fetch) = (read(&arguments.remove)?, read(&arguments.fetch)?);
    let stop = interrupt::stop_flag();
    let mut changed = Changed { schema: SCHEMA, fetched: Vec::new(), removed: Vec::new() };
    for spec in &to_remove {
        let removed = remove_kernel(spec, &cache, &mut |line| printer.note(line), &stop)?;
        if removed.is_empty() {
            printer.warning(format_args!("the cache has no `{spec}`"));
        }
        changed.removed.extend(removed);
    }
    if arguments.refresh {
        list_kernels(&cache, Listing::Refreshed, &mut |line| printer.note(line), &stop)?;
    }
    for spec in &to_fetch {
        changed.fetched.push(fetch_kernel(spec, &cache, &mut |line| printer.note(line), &stop)?);
    }
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&changed)?));
        return Ok(ExitCode::Success);
    }
    let mut text = String::new();
    for release in &changed.removed {
        writeln!(text, "removed {}", clean(release))?;
    }
    for kernel in &changed.fetched {
        let image = clean(&kernel.image.display().to_string());
        writeln!(
            text,
            "{}  {}\n  {image}\n  sha256 {}",
            bold(&clean(&kernel.release)),
            clean(&kernel.source),
            kernel.sha256
        )?;
    }
    printer.data(&text);
    Ok(ExitCode::Success)
}

fn list(arguments: &KernelsArguments, cache: &Cache, printer: &mut Printer) -> Result<ExitCode> {
    let listing = match (arguments.cached, arguments.refresh) {
        (true, _) => Listing::Cached,
        (_, true) => Listing::Refreshed,
        _ => Listing::Usual,
    };
    let stop = interrupt::stop_flag();
    let kernels = list_kernels(cache, listing, &mut |line| printer.note(line), &stop)?;
    if arguments.json {
        let document = Document { schema: SCHEMA, cache: cache.root().display().to_string(), kernels };
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        return Ok(ExitCode::Success);
    }
    if kernels.is_empty() {
        printer.note(format_args!(
            "the cache `{}` has no kernel yet; fetch one with `iostone guest kernels --fetch 6.1`",
            cache.root().display()
        ));
        return Ok(ExitCode::Success);
    }
    let shown = if arguments.all { kernels.iter().collect() } else { worth_showing(&kernels) };
    printer.data(&table(&shown)?);
    let hidden = kernels.len() - shown.len();
    if hidden > 0 {
        printer.note(format_args!("{hidden} older ones and other flavours: `--all` lists them"));
    }
    Ok(ExitCode::Success)
}

/// The cached kernels, and the newest of each series for virtual machines; newest first.
fn worth_showing(kernels: &[ListedKernel]) -> Vec<&ListedKernel> {
    let mut series = BTreeSet::new();
    kernels
        .iter()
        .filter(|kernel| {
            let newest = kernel.flavour == Flavour::Cloud && series.insert(kernel.series.as_str());
            newest || kernel.cached
        })
        .collect()
}

fn table(kernels: &[&ListedKernel]) -> Result<String, std::fmt::Error> {
    let heads = ["series", "release", "flavour", "package", "from"].map(str::to_owned);
    let rows: Vec<[String; 5]> = kernels
        .iter()
        .map(|kernel| {
            [&kernel.series, &kernel.release, kernel.flavour.as_str(), &kernel.version, &kernel.suite]
                .map(clean)
        })
        .collect();
    let mut widths = [0; 5];
    for row in rows.iter().chain([&heads]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; 5]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    let mut text = String::new();
    writeln!(text, "{}", bold(&format!("{}  {:>8}", line(&heads), "size")))?;
    for (row, kernel) in rows.iter().zip(kernels) {
        let size = match kernel.download_bytes {
            _ if kernel.cached => "cached".to_owned(),
            Some(bytes) => format!("{:.1} MB", bytes as f64 / 1e6),
            None => String::new(),
        };
        writeln!(text, "{}  {size:>8}", line(row))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(series: &str, flavour: Flavour, version: &str, cached: bool) -> ListedKernel {
        ListedKernel {
            series: series.to_owned(),
            release: format!("{version}-{}", flavour.as_str()),
            flavour,
            version: version.to_owned(),
            suite: "stable".to_owned(),
            download_bytes: Some(26_484_304),
            cached,
        }
    }

    #[test]
    fn the_newest_of_each_series_and_what_is_cached_is_shown() {
        let kernels = [
            kernel("7.2", Flavour::Cloud, "7.2.6", false),
            kernel("6.1", Flavour::Cloud, "6.1.176", false),
            kernel("6.1", Flavour::Rt, "6.1.176", true),
            kernel("6.1", Flavour::Cloud, "6.1.174", true),
            kernel("6.1", Flavour::Cloud, "6.1.173", false),
        ];
        let shown = worth_showing(&kernels);
        assert_eq!(
            shown.iter().map(|kernel| kernel.version.as_str()).collect::<Vec<_>>(),
            ["7.2.6", "6.1.176", "6.1.176", "6.1.174"]
        );
        let text = table(&shown).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("stable   26.5 MB"), "{text}");
        assert!(lines[4].ends_with("stable    cached"), "{text}");
    }
}
