//! `iostone catalog`: what the catalogue holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Result;
use iostone_cloud::{AS_OF, catalogue};
use iostone_report::clean;
use serde_json::json;

use super::table::labelled;
use crate::catalogue_file;
use crate::exit_code::ExitCode;
use crate::printer::{Printer, bold};

pub(super) fn summary(as_json: bool, printer: &mut Printer) -> Result<ExitCode> {
    let catalogue = catalogue();
    let mut by_source: BTreeMap<&str, usize> = BTreeMap::new();
    let mut own = 0;
    for instance in catalogue.instances() {
        if instance.said.is_some() {
            own += 1;
        } else {
            *by_source.entry(instance.source.as_str()).or_default() += 1;
        }
    }
    let mut volumes: BTreeMap<String, usize> = BTreeMap::new();
    let mut times = 0;
    for name in catalogue.volumes().names() {
        let provider = name.split_once('/').map_or("aws", |(provider, _)| provider);
        *volumes.entry(provider.to_owned()).or_default() += 1;
        times += catalogue.volumes().history(name).map(<[_]>::len).unwrap_or_default();
    }
    let instances = catalogue.instances().count();
    let place = catalogue_file::place().map(|place| clean(&place.path.display().to_string()));
    if as_json {
        let document = json!({
            "schema": "iostone/catalogue-summary/1",
            "instance_types": instances,
            "instance_types_by_source": by_source,
            "instance_types_of_user": own,
            "volume_types": volumes,
            "volume_rows": times,
            "price_regions": catalogue.regions(),
            "prices_as_of": AS_OF,
            "user_catalogue": catalogue.user_file(),
            "user_catalogue_place": place,
        });
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        return Ok(ExitCode::Success);
    }
    let mut text = format!("{}\n", bold(&format!("{instances} instance types of EC2")));
    let width = printer.text_style().width;
    let mut sources: Vec<(&str, usize)> = by_source.into_iter().collect();
    sources.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (source, count) in sources {
        text.push_str(&labelled(&count.to_string(), &clean(source), 5, width));
    }
    if own > 0 {
        text.push_str(&labelled(&own.to_string(), "with your rows", 5, width));
    }
    let total: usize = volumes.values().sum();
    let _ = writeln!(text, "{}", bold(&format!("{total} volume types, {times} rows of limits over time")));
    let by_provider: Vec<String> =
        volumes.iter().map(|(provider, count)| format!("{} {count}", clean(provider))).collect();
    let _ = writeln!(text, "  {}", by_provider.join(", "));
    let regions: BTreeSet<String> = catalogue.regions().iter().map(|region| clean(region)).collect();
    let _ = writeln!(text, "{}", bold("On-demand prices"));
    let regions: Vec<String> = regions.into_iter().collect();
    text.push_str(&labelled(
        AS_OF,
        &format!("built in; regions with yours: {}", regions.join(", ")),
        5,
        width,
    ));
    let _ = writeln!(text, "{}", bold("Your catalogue"));
    let yours = match (catalogue.user_file(), place) {
        (Some(file), _) => clean(file),
        (None, Some(place)) => format!("none; it would be `{place}`"),
        (None, None) => format!("none; `{}` names one", catalogue_file::VARIABLE),
    };
    let _ = writeln!(text, "  {yours}");
    let _ = writeln!(
        text,
        "\nNext: `iostone catalog search`, `show TYPE`, `compare TYPE TYPE`, `export`, `update FILE`."
    );
    printer.data(&text);
    Ok(ExitCode::Success)
}
