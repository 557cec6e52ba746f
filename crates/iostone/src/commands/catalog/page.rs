//! The catalogue as pages: a search, and everything known of a type.

use iostone_cloud::{Catalogue, DEFAULT_REGION, Search, catalogue};
use iostone_report::site::{Field, Sheet, Table, TableLine, address_part};

use super::facts::{self, UNKNOWN};
use super::search::{NOT_KNOWN, cells};

/// So many types are shown; who looks for one has typed more by then.
const MOST: usize = 200;

/// Types whose name or properties hold all of the words.
pub(crate) fn search(words: &str) -> Sheet {
    let catalogue = catalogue();
    let asked: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let search = Search { words: asked.clone(), region: DEFAULT_REGION.to_owned(), ..Search::default() };
    let found = catalogue.search(&search);
    let instances = found.instances.iter().take(MOST).map(|one| {
        let cells = cells(catalogue, one, DEFAULT_REGION);
        let places = [true, true, true, true, true, true, false, false];
        TableLine {
            name: one.name.clone(),
            href: Some(address_of(&one.name)),
            cells: cells.into_iter().skip(1).zip(places).collect(),
        }
    });
    let heads = ["type", "vCPUs", "memory", "EBS MB/s", "30 min", "IOPS", "USD/h", "disks", "status"];
    let is_figure = |head: &str| !["type", "disks", "status"].contains(&head);
    let shown = found.instances.len().min(MOST);
    let mut tables = vec![Table {
        title: "Instance types".to_owned(),
        heads: heads.map(|head| (head, is_figure(head))).to_vec(),
        rows: instances.collect(),
        note: format!(
            "{shown} of {} that fit; {} in all. Prices of {DEFAULT_REGION}. {NOT_KNOWN} means unknown.",
            found.instances.len(),
            found.of
        ),
    }];
    tables.push(volumes(catalogue, &asked));
    tables.retain(|table| !table.rows.is_empty());
    let near = found.nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    Sheet {
        title: "Catalogue".to_owned(),
        lede: "Instance and volume types, their limits and prices, as built into iostone.".to_owned(),
        action: "/catalog",
        fields: vec![Field {
            name: "q",
            label: "Words, all of which fit",
            value: words.to_owned(),
            hint: "c5 arm64 ssd burstable",
        }],
        button: "Search",
        complaint: tables.is_empty().then(|| format!("No type fits{near}")),
        tables,
        ..Sheet::default()
    }
}

fn address_of(name: &str) -> String {
    format!("/catalog/{}", address_part(name))
}

fn volumes(catalogue: &Catalogue, words: &[String]) -> Table {
    let known = |words: Option<String>| words.unwrap_or_else(|| NOT_KNOWN.to_owned());
    let fits = |name: &&str| words.iter().all(|word| name.contains(&word.to_lowercase()));
    let row = |name: &str| {
        let last = catalogue.volumes().history(name).ok()?.last()?;
        Some(TableLine {
            name: name.to_owned(),
            href: Some(address_of(name)),
            cells: [known(last.iops_words()), known(last.sizes()), last.period(None)]
                .map(|cell| (cell, false))
                .to_vec(),
        })
    };
    Table {
        title: "Volume types".to_owned(),
        heads: ["type", "IOPS now", "sizes", "limits known"].map(|head| (head, false)).to_vec(),
        rows: catalogue.volumes().names().filter(fits).filter_map(row).collect(),
        note: String::new(),
    }
}

/// Everything known of a type, if there is one of that name.
pub(crate) fn show(name: &str) -> Option<Sheet> {
    let catalogue = catalogue();
    let line = |name: &str, words: String| TableLine {
        name: name.to_owned(),
        href: None,
        cells: vec![(words, false)],
    };
    let known = |words: Option<String>| words.unwrap_or_else(|| UNKNOWN.to_owned());
    let tables = if let Ok(instance) = catalogue.instance(name) {
        let facts = facts::of(catalogue, instance).into_iter();
        let mut rows: Vec<TableLine> = facts.map(|fact| line(&fact.label, known(fact.words))).collect();
        rows.push(line("source", instance.source.clone()));
        rows.push(line("as of", known(instance.date.map(|date| date.to_string()))));
        vec![Table { rows, ..Table::default() }]
    } else {
        let rows = catalogue.volumes().history(name).ok()?;
        let table = |(index, row): (usize, &iostone_cloud::VolumeRow)| {
            let mut lines = vec![
                line("sizes", known(row.sizes())),
                line("IOPS", known(row.iops_words())),
                line("throughput", known(row.throughput_words())),
                line("counts", known(row.accounting_words())),
            ];
            lines.extend(row.latency.map(|latency| line("latency", latency.to_string())));
            lines.extend(row.note.as_ref().map(|note| line("note", note.clone())));
            lines.push(line("source", row.source.clone()));
            Table { title: row.period(rows.get(index + 1)), rows: lines, ..Table::default() }
        };
        rows.iter().enumerate().map(table).collect()
    };
    Some(Sheet { eyebrow: "Catalogue".to_owned(), title: name.to_owned(), tables, ..Sheet::default() })
}
