//! Writes rows into a user's file: only what differs from what is built in, with the file's own rows and comments kept.

use iostone_model::cloud::CatalogueDate;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike, value};

use super::change::{flat, flat_volume};
use super::row::PROVENANCE;
use super::rows::{Rows, is_same_time};
use super::{Catalogue, InstanceRow};
use crate::volume::VolumeRow;

/// Why a file could not be edited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// It is not TOML.
    #[error("it is not TOML: {0}")]
    Syntax(String),
    /// A table that rows go into is something else.
    #[error("`{0}` is not a table")]
    NotATable(String),
}

/// What a new file begins with.
const HEAD: &str = "# Rows of your own: they go before what is built in, field by field. `iostone catalog` reads and updates them.\n";

/// The text of a user's file with rows written into it. A field that is as built in is taken out of the file. `source` and `date`
/// go before what the rows say of themselves.
///
/// # Errors
/// [`EditError`] where the file is not one of rows.
pub fn edit_user_rows(
    text: &str,
    rows: &Rows,
    source: Option<&str>,
    date: Option<CatalogueDate>,
) -> Result<String, EditError> {
    let built_in = Catalogue::built_in();
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| EditError::Syntax(error.message().to_owned()))?;
    // Comments of a file that holds nothing else stand behind whatever is put in: they are kept in front instead.
    let mut head = String::new();
    if document.is_empty() {
        head = if text.trim().is_empty() { HEAD.to_owned() } else { format!("{}\n", text.trim_end()) };
        document = DocumentMut::new();
    }
    let mut section = Table::new();
    section.set_implicit(true);
    let instances = document
        .entry("instance")
        .or_insert(Item::Table(section))
        .as_table_like_mut()
        .ok_or_else(|| EditError::NotATable("instance".to_owned()))?;
    for (name, row) in &rows.instance {
        edit_row(instances, name, row, &built_in, (source, date))?;
        // A row that is gone leaves what was written above it.
        let comment = taken_out(instances, name, &built_in).unwrap_or_default();
        if !comment.trim().is_empty() {
            head.push_str(&comment);
        }
    }
    if instances.is_empty() {
        document.remove("instance");
    }
    for row in &rows.volume {
        edit_volume(&mut document, row, &built_in, (source, date))?;
    }
    let body = document.to_string();
    let gap = if head.is_empty() || body.is_empty() || body.starts_with('\n') { "" } else { "\n" };
    Ok(format!("{head}{gap}{body}"))
}

fn edit_row(
    instances: &mut dyn TableLike,
    name: &str,
    row: &InstanceRow,
    built_in: &Catalogue,
    (source, date): (Option<&str>, Option<CatalogueDate>),
) -> Result<(), EditError> {
    let known = built_in.instances.get(name).map(|instance| flat(&built_in.row(instance)));
    let facts = flat(row);
    let is_built_in = |fact: &(String, toml::Value)| known.as_ref().is_some_and(|known| known.contains(fact));
    let differs = facts.iter().any(|fact| !is_built_in(fact));
    if instances.get(name).is_none() {
        if known.is_some() && !differs {
            return Ok(());
        }
        instances.insert(name, Item::Table(Table::new()));
    }
    let wrong = || EditError::NotATable(format!("instance.\"{name}\""));
    let table = instances.get_mut(name).and_then(Item::as_table_like_mut).ok_or_else(wrong)?;
    let mut is_edited = false;
    for fact in &facts {
        let (key, new) = fact;
        let (key, region) =
            key.split_once('.').map_or((key.as_str(), None), |(key, region)| (key, Some(region)));
        if let Some(region) = region {
            is_edited |= edit_price(table, key, region, new, is_built_in(fact)).ok_or_else(wrong)?;
        } else if is_built_in(fact) {
            is_edited |= table.remove(key).is_some();
        } else if table.get(key).is_none_or(|old| !is_same(old, new)) {
            put(table, key, item(new));
            is_edited = true;
        }
    }
    if is_edited && differs {
        let source = source.or(row.source.as_deref());
        let date = date.or(row.date).map(|date| date.to_string());
        for (key, text) in [("source", source), ("date", date.as_deref())] {
            match text {
                Some(text) => put(table, key, value(text)),
                // Where the fields that were there are from does not tell where the new ones are from.
                None => drop(table.remove(key)),
            }
        }
    }
    Ok(())
}

/// Puts a row of a volume type in place of the one of its time, or takes that out where the row is as built in.
fn edit_volume(
    document: &mut DocumentMut,
    row: &VolumeRow,
    built_in: &Catalogue,
    (source, date): (Option<&str>, Option<CatalogueDate>),
) -> Result<(), EditError> {
    let wrong = || EditError::NotATable("volume".to_owned());
    let known = built_in.volumes.history(&row.name).unwrap_or_default();
    let is_built_in =
        known.iter().any(|other| is_same_time(other, row) && flat_volume(other) == flat_volume(row));
    if document.get("volume").is_none() {
        if is_built_in {
            return Ok(());
        }
        document.insert("volume", Item::ArrayOfTables(ArrayOfTables::new()));
    }
    let rows = document.get_mut("volume").and_then(Item::as_array_of_tables_mut).ok_or_else(wrong)?;
    let is_of_this_time = |table: &Table| {
        let text = |key: &str| table.get(key).and_then(Item::as_str);
        let day = text("since").and_then(|since| since.parse::<CatalogueDate>().ok()).map(CatalogueDate::day);
        text("name") == Some(row.name.as_str()) && day == row.since.map(CatalogueDate::day)
    };
    let place = rows.iter().position(is_of_this_time);
    if is_built_in {
        if let Some(place) = place {
            rows.remove(place);
        }
    } else {
        let mut row = row.clone();
        if let Some(source) = source {
            row.source = date.map_or_else(|| source.to_owned(), |date| format!("{source}, {date}"));
        }
        let table = written(&row).ok_or_else(wrong)?;
        match place.and_then(|place| rows.get_mut(place)) {
            Some(old) => {
                let decor = old.decor().clone();
                *old = table;
                *old.decor_mut() = decor;
            }
            None => rows.push(table),
        }
    }
    if rows.is_empty() {
        document.remove("volume");
    }
    Ok(())
}

/// A row as a table, a law on a line.
fn written(row: &VolumeRow) -> Option<Table> {
    let text = toml::to_string(row).ok()?;
    let document: DocumentMut = text.parse().ok()?;
    let mut table = Table::new();
    for (key, item) in document.iter() {
        let in_line = item.clone().into_value().ok()?;
        table.insert(key, Item::Value(in_line));
    }
    Some(table)
}

/// Takes out the row of a built-in type that says nothing any more; gives the comment above it.
fn taken_out(instances: &mut dyn TableLike, name: &str, built_in: &Catalogue) -> Option<String> {
    let row = instances.get(name)?;
    let says_nothing = row.as_table_like()?.iter().all(|(key, _)| PROVENANCE.contains(&key))
        && built_in.instances.contains_key(name);
    if !says_nothing {
        return None;
    }
    let prefix = row.as_table().and_then(|table| table.decor().prefix()?.as_str()).unwrap_or_default();
    let comment = prefix.to_owned();
    instances.remove(name);
    Some(comment)
}

/// Sets a price, or takes it out where it is as built in. None if prices are no table; else whether anything was done.
fn edit_price(
    table: &mut dyn TableLike,
    key: &str,
    region: &str,
    new: &toml::Value,
    is_built_in: bool,
) -> Option<bool> {
    if table.get(key).is_none() {
        if is_built_in {
            return Some(false);
        }
        table.insert(key, value(toml_edit::InlineTable::new()));
    }
    let prices = table.get_mut(key)?.as_table_like_mut()?;
    let is_edited = if is_built_in {
        prices.remove(region).is_some()
    } else if prices.get(region).is_none_or(|old| !is_same(old, new)) {
        prices.insert(region, item(new));
        true
    } else {
        false
    };
    if prices.is_empty() {
        table.remove(key);
    }
    Some(is_edited)
}

/// Sets a value; what is written beside the old one stays.
fn put(table: &mut dyn TableLike, key: &str, mut new: Item) {
    match table.get_mut(key) {
        Some(old) => {
            if let (Some(old), Some(new)) = (old.as_value(), new.as_value_mut()) {
                *new.decor_mut() = old.decor().clone();
            }
            *old = new;
        }
        None => drop(table.insert(key, new)),
    }
}

fn item(fact: &toml::Value) -> Item {
    match fact {
        toml::Value::Integer(number) => value(*number),
        toml::Value::Float(number) => value(*number),
        toml::Value::Array(items) => {
            value(items.iter().filter_map(toml::Value::as_str).collect::<toml_edit::Array>())
        }
        other => value(super::change::words(other)),
    }
}

/// Whether what stands in the file is the same, however it is spelled.
fn is_same(old: &Item, new: &toml::Value) -> bool {
    item(new).to_string().trim() == old.to_string().trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::read_rows;

    const MINE: &str = "# mine\n[instance.\"c4.large\"] # slow\nebs_baseline = \"750Mbps\" # measured\nsource = \"me\"\n\n[instance.x]\nvcpus = 3\n";

    fn edited(text: &str, rows: &str) -> String {
        let text =
            edit_user_rows(text, &read_rows(rows).unwrap(), Some("test"), "2026-11".parse().ok()).unwrap();
        Catalogue::with_user_rows(&text, "f").unwrap();
        text
    }

    #[test]
    fn only_what_differs_is_written_and_comments_stay() {
        let text = edited(
            MINE,
            "[instance.\"c4.large\"]\nvcpus = 2\nebs_baseline = \"1000Mbps\"\n[instance.\"m4.large\"]\nvcpus = 2\n",
        );
        assert_eq!(
            text,
            "# mine\n[instance.\"c4.large\"] # slow\nebs_baseline = \"125MB/s\" # measured\nsource = \"test\"\ndate = \"2026-11\"\n\n\
             [instance.x]\nvcpus = 3\n"
        );
        let back = edited(&text, "[instance.\"c4.large\"]\nebs_baseline = \"500Mbps\"\n");
        assert_eq!(back, "# mine\n\n[instance.x]\nvcpus = 3\n");
    }

    #[test]
    fn a_volume_type_is_put_in_and_taken_out() {
        let gp2 = Catalogue::built_in().rows().volume.into_iter().find(|row| row.name == "gp2").unwrap();
        let whole = |row: &VolumeRow| {
            let rows = Rows { volume: vec![row.clone()], ..Rows::default() };
            edit_user_rows(MINE, &rows, None, None).unwrap()
        };
        assert_eq!(whole(&gp2), MINE, "as built in");
        let other = VolumeRow { note: Some("mine".to_owned()), ..gp2.clone() };
        let text = whole(&other);
        assert!(text.starts_with(MINE) && text.contains("[[volume]]\nname = \"gp2\"\n"), "{text}");
        let read = read_rows(&text).unwrap();
        assert_eq!(read.volume, [other]);
        let rows = Rows { volume: vec![gp2], ..Rows::default() };
        assert_eq!(edit_user_rows(&text, &rows, None, None).unwrap(), MINE);
    }

    #[test]
    fn a_new_file_and_prices() {
        let text = edited("", "[instance.\"c4.large\"]\nusd_per_hour = { us-east-1 = 0.1, mars-1 = 3.5 }\n");
        assert!(text.starts_with("# Rows of your own"), "{text}");
        assert!(text.contains("usd_per_hour = { mars-1 = 3.5 }"), "{text}");
        let text = edited(&text, "[instance.\"c4.large\"]\nusd_per_hour = { us-east-1 = 0.2 }\n");
        assert!(text.contains("mars-1 = 3.5") && text.contains("us-east-1 = 0.2"), "{text}");
    }
}
