//! The experiment that confirms a change: the state before it as a level beside the one after it, in blocks.
//!
//! Within blocks it does not matter whether runs depend on each other. Of what changes between runs that were declared alike only
//! the kernel can be brought back by an experiment: it asks for the boot, and goes on after it.

use iostone_model::history::Change;
use toml::{Table, Value};

/// The experiment, from the text of the one whose runs changed; none where nothing that changed can be brought back, or where that
/// names a machine of its own.
pub fn confirming_experiment(text: &str, change: &Change, confidence: f64) -> Option<String> {
    let kernel = change.circumstances.iter().find(|one| one.name == "kernel")?;
    let (before, after) = (kernel.before.as_ref()?, kernel.after.as_ref()?);
    let mut experiment: Table = text.parse().ok()?;
    if let Some(machine) = experiment.get("machine") {
        let kind = machine.get("kind").and_then(Value::as_str).unwrap_or("local");
        if kind != "local" || machine.get("kernel").is_some() {
            return None;
        }
    }
    let level = |kernel: &String| {
        let machine = Table::from_iter([("kernel".to_owned(), Value::from(kernel.clone()))]);
        (kernel.clone(), Value::from(Table::from_iter([("machine".to_owned(), Value::from(machine))])))
    };
    let levels = Table::from_iter([level(before), level(after)]);
    let factor = Table::from_iter([
        ("name".to_owned(), Value::from("state")),
        ("levels".to_owned(), Value::from(levels)),
    ]);
    match experiment.entry("factor").or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(factors) => factors.insert(0, Value::from(factor)),
        _ => return None,
    }
    let decide = experiment.get_mut("decide")?.as_table_mut()?;
    decide.insert("baseline".to_owned(), Value::from(format!("state={before}")));
    decide.insert("confidence".to_owned(), Value::from(format!("{}%", 100.0 * confidence)));
    let name = experiment.get("name")?.as_str()?.to_owned();
    experiment.insert("name".to_owned(), Value::from(format!("{name}-confirm")));
    Some(format!(
        "# {name}: the kernel before a change of its history beside the one after it, in blocks.\n{}",
        toml::to_string(&experiment).ok()?
    ))
}
