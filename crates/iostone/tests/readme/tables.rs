//! Tables and drawings of the pages against what they are of: the schema, the metrics, the codes, the crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use iostone_model::experiment::WORKLOAD_KINDS;
use iostone_model::experiment::json_schema;
use iostone_model::metric::{COMMON_METRICS, DBENCH_OPERATIONS, Metric, tables};
use serde_json::Value;

use crate::pages::{Page, page, root};

/// First cells, without backticks, of the tables whose first heading is one of these.
fn first_cells(page: &Page, headings: &[&str]) -> BTreeSet<String> {
    let mut cells = BTreeSet::new();
    let mut wanted = false;
    let mut inside = false;
    for line in page.text.lines() {
        let Some(cell) = line.strip_prefix("| ").and_then(|rest| rest.split(" |").next()) else {
            inside &= line.starts_with('|');
            continue;
        };
        if !inside {
            (inside, wanted) = (true, headings.contains(&cell));
        } else if wanted {
            cells.insert(cell.trim_matches('`').to_owned());
        }
    }
    cells
}

/// Every key of a schema as a path: `stack.volume.size`, `factor[].name`.
fn keys(schema: &Value, definitions: &Value, path: &str, found: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        keys(&definitions[name], definitions, path, found);
    }
    for choice in ["oneOf", "anyOf"].iter().filter_map(|word| schema[*word].as_array()).flatten() {
        keys(choice, definitions, path, found);
    }
    for (key, value) in schema["properties"].as_object().into_iter().flatten() {
        let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        keys(value, definitions, &inner, found);
        found.insert(inner);
    }
    if let Some(items) = schema.get("items") {
        keys(items, definitions, &format!("{path}[]"), found);
    }
}

#[test]
fn the_reference_has_every_key_of_the_experiment_file_and_no_other() {
    let schema = serde_json::to_value(json_schema()).unwrap();
    let mut expected = BTreeSet::new();
    keys(&schema, &schema["$defs"], "", &mut expected);
    let mut documented = first_cells(&page("docs/reference/experiment-file.md"), &["key"]);
    documented.extend(first_cells(&page(TOOLS), &["key"]));
    assert_eq!(documented, expected);
}

/// The page of the foreign workloads.
const TOOLS: &str = "docs/reference/experiment-file-tools.md";

/// A page cut at its headings of the second level: the heading's text, and what stands below it.
fn sections(page: &Page) -> Vec<(String, Page)> {
    let parts = page.text.split("\n## ").skip(1).filter_map(|part| part.split_once('\n'));
    let section = |text: &str| Page { path: page.path.clone(), text: text.to_owned() };
    parts.map(|(heading, text)| (heading.trim_matches('`').to_owned(), section(text))).collect()
}

#[test]
fn each_foreign_workload_has_its_own_keys_and_no_other() {
    let schema = serde_json::to_value(json_schema()).unwrap();
    let kinds = schema["$defs"]["Workload"]["oneOf"].as_array().unwrap();
    let sections = sections(&page(TOOLS));
    for kind in kinds {
        let name = kind["properties"]["kind"]["const"].as_str().unwrap();
        if ["io", "command"].contains(&name) {
            continue;
        }
        let mut expected = BTreeSet::new();
        keys(kind, &schema["$defs"], "workload", &mut expected);
        expected.remove("workload.kind");
        let (_, section) = sections.iter().find(|(heading, _)| heading == name).unwrap();
        assert_eq!(first_cells(section, &["key"]), expected, "{name}");
    }
}

/// How the page calls a figure: one of many alike by what stands for all of them.
fn documented_name(metric: &Metric) -> String {
    match metric.name.split_once('.') {
        Some((operation, rest)) if DBENCH_OPERATIONS.contains(&operation) => format!("<operation>.{rest}"),
        Some((_, "cpu")) => "<phase>.cpu".to_owned(),
        Some((phase, rest)) if tables().flatten().any(|other| other.name == phase) => {
            format!("<phase>.{rest}")
        }
        _ => metric.name.to_owned(),
    }
}

#[test]
fn the_reference_has_every_metric() {
    let page = page("docs/reference/metrics.md");
    let sections = sections(&page);
    let own = WORKLOAD_KINDS.iter().map(|kind| (kind.word, [kind.metrics, kind.on_request].concat()));
    for (kind, table) in own.chain([("Of every workload", COMMON_METRICS.to_vec())]) {
        let mut expected: BTreeSet<String> = table.iter().map(documented_name).collect();
        if kind == "fio" {
            for direction in ["read.", "write.", "trim."] {
                let as_one = |name: String| match name.strip_prefix(direction) {
                    Some(rest) => format!("<direction>.{rest}"),
                    None => name,
                };
                expected = expected.into_iter().map(as_one).collect();
            }
        }
        let (_, section) = sections.iter().find(|(heading, _)| heading == kind).unwrap();
        assert_eq!(first_cells(section, &["metric"]), expected, "{kind}");
    }
    for operation in DBENCH_OPERATIONS {
        assert!(page.text.contains(&format!("`{operation}`")), "{operation}");
    }
}

#[test]
fn the_reference_has_every_code_of_a_diagnostic() {
    let mut expected = BTreeSet::new();
    let directory = root().join("crates/iostone-model/src/experiment");
    for entry in
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        let text = fs::read_to_string(entry).unwrap();
        let codes = text.split("\"io0").skip(1).filter_map(|rest| rest.split_once('"'));
        expected.extend(codes.map(|(digits, _)| format!("io0{digits}")));
    }
    assert_eq!(first_cells(&page("docs/reference/experiment-file.md"), &["code"]), expected);
}

/// The arrows drawn, in order: crate and what it depends on.
fn drawn_arrows() -> Vec<(String, BTreeSet<String>)> {
    let page = page("docs/architecture.md");
    let blocks = page.blocks();
    let drawing = blocks.iter().find(|block| block.language == "arrows").unwrap();
    let full = |name: &str| if name == "iostone" { name.to_owned() } else { format!("iostone-{name}") };
    let arrow = |line: &&str| {
        let (name, targets) = line.split_once("──▶").unwrap();
        let name = name.trim_matches(|c: char| !c.is_ascii_lowercase());
        let targets = targets.trim().split(", ").filter(|target| *target != "nothing");
        (full(name), targets.map(full).collect())
    };
    drawing.lines.iter().map(arrow).collect()
}

#[test]
fn the_arrows_drawn_are_the_dependencies_and_point_downward() {
    let drawn = drawn_arrows();
    let mut real = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap()) {
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap();
        let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
        let lines = section.lines().take_while(|line| !line.starts_with('['));
        let of_ours = lines.filter(|line| line.starts_with("iostone-"));
        let names: BTreeSet<String> =
            of_ours.map(|line| line.split(['.', ' ', '=']).next().unwrap().to_owned()).collect();
        real.insert(entry.file_name().to_string_lossy().into_owned(), names);
    }
    assert_eq!(drawn.iter().cloned().collect::<BTreeMap<_, _>>(), real);
    for (index, (name, targets)) in drawn.iter().enumerate() {
        let above: Vec<&String> = drawn[..=index].iter().map(|(name, _)| name).collect();
        assert!(targets.iter().all(|target| !above.contains(&target)), "{name} points upward");
    }
}
