//! Reads the factors of an experiment file: named levels, or one path with its values or the range of a sweep.

use toml::{Table, Value};

use super::combine::{Places, RawFactor, RawLevel, kind_varied, level_settings, list, varied};
use super::decode::{decode, missing, unknown_key};
use super::source::{join, set};
use super::sweep::{Step, steps};
use crate::diagnostic::Diagnostic;

/// The factors, each with its levels' settings sorted by section.
pub(super) fn read_factors(
    table: &Table,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<RawFactor> {
    let items = match table.get("factor") {
        None => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            let error = Diagnostic::new("io0004", "`factor` is not a list of tables");
            errors.push(places.at_key(error, "factor", "write `[[factor]]`, with two brackets"));
            return Vec::new();
        }
    };
    let mut factors: Vec<RawFactor> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("factor[{index}]");
        match read_factor(item, &path, places, errors) {
            Ok(factor) if factors.iter().any(|earlier| earlier.name == factor.name) => {
                let error = Diagnostic::new("io0007", format!("two factors are called `{}`", factor.name));
                errors.push(places.at_value(error, &join(&path, "name"), "the second of them"));
            }
            Ok(factor) => factors.push(factor),
            Err(error) => errors.push(error),
        }
    }
    if items.len() > 1
        && let Some(swept) = items.iter().position(is_sweep)
    {
        let error = Diagnostic::new("io0007", "a sweep is the only factor of an experiment");
        let error = places.at_value(error, &format!("factor[{swept}].name"), "this one is a sweep");
        errors.push(error.note(
            "a sweep searches for its best level; put the other settings into the stack, or list levels instead",
        ));
    }
    factors
}

/// Whether a factor is written as a sweep.
fn is_sweep(item: &Value) -> bool {
    item.as_table().is_some_and(|table| range_of(table).is_some())
}

/// The range of a sweep, and the key that holds it: `sweep = "..."`, or `levels = { sweep = "..." }`.
fn range_of(table: &Table) -> Option<(&Value, &'static str)> {
    let own = table.get("sweep").map(|range| (range, "sweep"));
    own.or_else(|| {
        let range = table.get("levels")?.as_table()?.get("sweep")?;
        // Levels are tables, so that one may be called `sweep`.
        range.is_str().then_some((range, "levels.sweep"))
    })
}

fn read_factor(
    item: &Value,
    path: &str,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Result<RawFactor, Diagnostic> {
    let Value::Table(table) = item else {
        let error = Diagnostic::new("io0004", "a factor is a table");
        return Err(places.at_value(error, path, "write `[[factor]]`"));
    };
    let known = ["name", "levels", "path", "values", "sweep"];
    if let Some(key) = table.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(unknown_key(places, &join(path, key), key, &known));
    }
    let Some(name) = table.get("name") else { return Err(missing(places, path, "name")) };
    let name: String = decode(name.clone(), &join(path, "name"), places)?;
    // With a `+` it would look like factors that go together.
    if name.is_empty() || name.contains(['=', ',', '+']) {
        let error = Diagnostic::new("io0007", format!("`{name}` cannot name a factor"));
        let error = places.at_value(error, &join(path, "name"), "not empty, without `=`, `,` and `+`");
        return Err(if name.contains('+') {
            error.note("write factors that vary together separately and join them with `combine.zip`")
        } else {
            error
        });
    }
    if let Some((range, key)) = range_of(table) {
        let (levels, positions) = swept_levels(table, range, key, path, places)?;
        return Ok(RawFactor { name, levels, sweep: Some(positions) });
    }
    let levels = match (table.get("levels"), table.get("path"), table.get("values")) {
        (Some(Value::Table(levels)), None, None) => named_levels(levels, path, places, errors)?,
        (Some(_), None, None) => {
            let error = Diagnostic::new("io0004", format!("the levels of `{name}` are not a table"));
            let example = "expected { on = { mount.options = [...] }, off = ... }";
            return Err(places.at_value(error, &join(path, "levels"), example));
        }
        (None, Some(setting), Some(Value::Array(values))) => {
            let setting: String = decode(setting.clone(), &join(path, "path"), places)?;
            listed_levels(&setting, values, path, places)?
        }
        (None, Some(_), Some(_)) => {
            let error = Diagnostic::new("io0004", format!("the values of `{name}` are not a list"));
            return Err(places.at_value(error, &join(path, "values"), "expected [\"4KiB\", \"64KiB\"]"));
        }
        (levels, setting, values) => {
            let what = match (levels, setting, values) {
                (Some(_), _, _) => "has levels and also a path or values; use one of the two",
                (None, Some(_), None) => "has a path but no values",
                (None, None, Some(_)) => "has values but no path",
                _ => "has neither levels nor a path with values",
            };
            let error = Diagnostic::new("io0007", format!("factor `{name}` {what}"));
            let error = places.at_key(error, path, "this factor");
            return Err(error.note(
                "give it `levels = { a = { ... }, b = { ... } }`, or `path = \"workload.bs\"` with `values = [...]` or `sweep = \
                 \"4KiB..1MiB doubling\"`",
            ));
        }
    };
    if levels.len() < 2 {
        let error = Diagnostic::new("io0007", format!("factor `{name}` has fewer than two levels"));
        let error = places.at_value(error, &join(path, "name"), "nothing is varied");
        return Err(
            error.note("for the noise of one configuration, keep its levels and use `iostone run --aa`")
        );
    }
    Ok(RawFactor { name, levels, sweep: None })
}

fn named_levels(
    levels: &Table,
    path: &str,
    places: &Places<'_>,
    errors: &mut Vec<Diagnostic>,
) -> Result<Vec<RawLevel>, Diagnostic> {
    let mut read = Vec::new();
    for (level, settings) in levels {
        let level_path = join(&join(path, "levels"), level);
        if level.is_empty() || level.contains(',') {
            let error = Diagnostic::new("io0007", format!("`{level}` cannot name a level"));
            return Err(places.at_key(error, &level_path, "not empty, without `,`"));
        }
        let Value::Table(settings) = settings else {
            let error = Diagnostic::new("io0004", format!("level `{level}` is not a table of settings"));
            return Err(places.at_value(
                error,
                &level_path,
                "expected { mount.options = [...] } or the like",
            ));
        };
        let settings = level_settings(settings, &level_path, places.source, errors);
        read.push((level.clone(), vec![(settings, level_path)]));
    }
    Ok(read)
}

/// `path = "limit.cpu"`, `sweep = "10%..100%"`: a level for each step, and where it stands on the axis.
fn swept_levels(
    table: &Table,
    range: &Value,
    key: &str,
    path: &str,
    places: &Places<'_>,
) -> Result<(Vec<RawLevel>, Vec<f64>), Diagnostic> {
    let place = join(path, key);
    let wrong = |message: String, key: &str, label: &str| {
        Err(places.at_value(Diagnostic::new("io0007", message), &join(path, key), label))
    };
    if let Some(other) = ["values", "levels"]
        .into_iter()
        .find(|other| table.contains_key(*other) && !(*other == "levels" && key == "levels.sweep"))
    {
        return wrong(
            format!("a sweep has no `{other}`: its range defines the levels"),
            other,
            "leave it out",
        );
    }
    if let Some(other) =
        table.get("levels").and_then(Value::as_table).and_then(|l| l.keys().find(|k| *k != "sweep"))
    {
        return wrong(
            "a sweep has no levels besides its range".to_owned(),
            &join("levels", other),
            "leave it out",
        );
    }
    let Some(setting) = table.get("path") else {
        let error = Diagnostic::new("io0007", "the sweep has no path: which setting does it vary?");
        return Err(places
            .at_value(error, &place, "of what?")
            .note("add `path = \"limit.cpu\"` or the like"));
    };
    let setting: String = decode(setting.clone(), &join(path, "path"), places)?;
    let full = full_path(&setting, path, places)?;
    let range: String = decode(range.clone(), &place, places)?;
    let steps = steps(&range, grain_of(&setting)).map_err(|reason| {
        places.at_value(Diagnostic::new("io0007", reason), &place, "not a range to sweep")
    })?;
    let (mut levels, mut positions) = (Vec::new(), Vec::new());
    for Step { value, position } in steps {
        // Variables of the environment are text.
        let value = match value {
            number @ (Value::Integer(_) | Value::Float(_)) if full.starts_with("workload.env.") => {
                Value::String(number.to_string())
            }
            other => other,
        };
        levels.push(level_of(&setting, &full, &value, place.clone(), path, places)?);
        positions.push(position);
    }
    Ok((levels, positions))
}

/// What the plain numbers of a setting have to be multiples of.
fn grain_of(setting: &str) -> u64 {
    // Of either the kernel keeps whole pages.
    match setting {
        "queue.readahead" => 8,
        "queue.read_ahead_kb" => 4,
        _ => 1,
    }
}

/// The path from the top of the experiment of a setting that a factor varies.
fn full_path(setting: &str, path: &str, places: &Places<'_>) -> Result<String, Diagnostic> {
    let first = setting.split('.').next().unwrap_or_default();
    if !varied().contains(&first) {
        let error = Diagnostic::new(
            "io0007",
            format!("`{setting}` is not a setting of the stack, the workload or the machine"),
        );
        return Err(places
            .at_value(error, &join(path, "path"), "not a path that can be varied")
            .note(format!("a path starts with {}", list(&varied()))));
    }
    if setting == "workload.kind" {
        return Err(places.at_value(kind_varied(), &join(path, "path"), "not a path that can be varied"));
    }
    let own = matches!(first, "workload" | "machine");
    Ok(if own { setting.to_owned() } else { format!("stack.{setting}") })
}

/// The level that sets a path to a value; the value is its name.
fn level_of(
    setting: &str,
    full: &str,
    value: &Value,
    place: String,
    path: &str,
    places: &Places<'_>,
) -> Result<RawLevel, Diagnostic> {
    let level = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut settings = Table::new();
    if let Err(reason) = set(&mut settings, full, value.clone()) {
        let error = Diagnostic::new("io0007", format!("`{setting}` cannot be set: {reason}"));
        return Err(places.at_value(error, &join(path, "path"), "this path"));
    }
    Ok((level, vec![(settings, place)]))
}

/// `path = "workload.bs"`, `values = ["4KiB", "64KiB"]`: one level a value.
fn listed_levels(
    setting: &str,
    values: &[Value],
    path: &str,
    places: &Places<'_>,
) -> Result<Vec<RawLevel>, Diagnostic> {
    let full = full_path(setting, path, places)?;
    let mut read: Vec<RawLevel> = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let value_path = format!("{path}.values[{index}]");
        let level = level_of(setting, &full, value, value_path.clone(), path, places)?;
        if read.iter().any(|(earlier, _)| *earlier == level.0) {
            let error = Diagnostic::new("io0007", format!("the value `{}` is given twice", level.0));
            return Err(places.at_value(error, &value_path, "the second of them"));
        }
        read.push(level);
    }
    Ok(read)
}
