//! What is told of images: a line for each fact, or JSON.

use std::fmt::Write;

use anyhow::Result;
use iostone_guest::image::{Conversion, Image, ImageFormat};
use iostone_model::units::Bytes;
use iostone_report::clean;
use serde_json::{Value, json};

use crate::printer::bold;

/// "disk.vmdk: vmdk, streamOptimized, a disk of 20 MiB in ..." and what lies on it, what was checked, what to know.
pub(super) fn conversion(converted: &Conversion) -> String {
    let (source, target) = (&converted.source, &converted.target);
    let mut text = format!("{}\n", bold(&one_line(target)));
    line(&mut text, "from", &one_line(source));
    line(&mut text, "holds", &content(target));
    line(&mut text, "SHA-256", &converted.sha256);
    for check in &converted.checks {
        line(&mut text, "checked", check);
    }
    for note in &converted.notes {
        line(&mut text, "note", note);
    }
    text
}

/// The same of an image by itself.
pub(super) fn checked(image: &Image, checks: &[String]) -> String {
    let mut text = format!("{}\n", bold(&one_line(image)));
    line(&mut text, "holds", &content_of_given(image));
    for check in checks {
        line(&mut text, "checked", check);
    }
    text
}

/// What lies on an image that somebody gave. One that was just made needs no doubt of its format.
fn content_of_given(image: &Image) -> String {
    let is_doubtful = image.format == ImageFormat::Raw && !image.head.is_empty() && found(image).is_none();
    let doubt = if is_doubtful { "; use `--from` if it is not a raw disk" } else { "" };
    format!("{}{doubt}", content(image))
}

/// What an image is.
pub(super) fn described(image: &Image, notes: &[String]) -> String {
    let mut text = format!("{}\n", bold(&one_line(image)));
    line(&mut text, "holds", &content_of_given(image));
    for file in &image.other_files {
        line(&mut text, "names", file);
    }
    for note in notes {
        line(&mut text, "note", note);
    }
    text
}

pub(super) fn conversion_json(converted: &Conversion) -> Result<String> {
    let value = json!({
        "schema": "iostone/image-conversion/1",
        "source": with_content(&converted.source)?,
        "target": with_content(&converted.target)?,
        "sha256": converted.sha256,
        "checks": converted.checks,
        "notes": converted.notes,
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&value)?))
}

/// An image with the sentences told of it under `key`.
pub(super) fn image_json(image: &Image, key: &str, told: &[String]) -> Result<String> {
    let mut value = with_content(image)?;
    if let Some(value) = value.as_object_mut() {
        value.insert("schema".to_owned(), json!("iostone/image/1"));
        value.insert(key.to_owned(), json!(told));
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&value)?))
}

fn with_content(image: &Image) -> Result<Value> {
    let mut value = serde_json::to_value(image)?;
    if let Some(value) = value.as_object_mut() {
        value.insert("content".to_owned(), json!(found(image)));
    }
    Ok(value)
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<8} {}", clean(value));
}

fn one_line(image: &Image) -> String {
    let subformat = image.subformat.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let disk = image.virtual_bytes.map_or_else(
        || "a disk of unknown size".to_owned(),
        |bytes| format!("a disk of {} ({bytes} bytes)", Bytes(bytes).approximate()),
    );
    clean(&format!(
        "{}: {}{subformat}, {disk} in a file of {}, {} allocated",
        image.file.display(),
        image.format.name(),
        Bytes(image.file_bytes).approximate(),
        Bytes(image.allocated_bytes).approximate()
    ))
}

/// What lies on the disk: a partition table, a filesystem, or unknown content.
fn content(image: &Image) -> String {
    match found(image) {
        Some(found) if found.contains("partition table") => found,
        Some(found) => format!("{found}, on the whole disk, without a partition table"),
        None if image.head.is_empty() => "content not examined".to_owned(),
        None => {
            let zeros = image.head.iter().all(|byte| *byte == 0);
            let start = if zeros { "zeros at its beginning" } else { "unknown content" };
            format!("{start}: no partition table and no filesystem")
        }
    }
}

fn found(image: &Image) -> Option<String> {
    iostone_stack::name_content(&image.head)
}
