//! `iostone new`: writes an experiment to begin with.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use iostone_stack::leave_to_caller;
use serde::Serialize;

use crate::exit_code::ExitCode;
use crate::output_file::Overwrite;
use crate::printer::{Printer, bold};
use crate::recipe::{Companion, RECIPES, Recipe, RecipeKind};

#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// The recipe; without one all are listed
    recipe: Option<String>,
    /// Write to this file instead of RECIPE.toml; `-` is standard output
    #[arg(long, short, value_name = "FILE", requires = "recipe")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// List recipes as JSON
    #[arg(long, conflicts_with = "recipe")]
    json: bool,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    question: &'a str,
    everyday: bool,
}

pub(crate) fn new(arguments: &NewArguments, printer: &mut Printer) -> Result<ExitCode> {
    let Some(name) = &arguments.recipe else { return list(arguments.json, printer) };
    let recipe = Recipe::named(name, &format!("there is no recipe `{name}`"))?;
    if arguments.output.as_deref() == Some(Path::new("-")) {
        printer.data(recipe.text);
        return Ok(ExitCode::Success);
    }
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    let output = arguments.overwrite.open(Some(&path))?;
    if let Some(companion) = recipe.companion() {
        let place = place_beside(&path, companion)?;
        printer.note(format_args!("{} written, which the experiment needs beside it", place.display()));
    }
    if let Some(output) = output {
        output.write(recipe.text)?;
    }
    printer.note(format_args!("{0} written; run it with `iostone run {0}`", path.display()));
    Ok(ExitCode::Success)
}

/// Writes a file that the experiment names, unless it lies there already.
fn place_beside(experiment: &Path, companion: &Companion) -> Result<PathBuf> {
    let place = experiment.parent().unwrap_or_else(|| Path::new("")).join(companion.path);
    if std::fs::read(&place).is_ok_and(|bytes| bytes == companion.bytes) {
        return Ok(place);
    }
    if place.symlink_metadata().is_ok() {
        bail!("`{}` is another file than the one that the experiment needs; move it away", place.display());
    }
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let written = |place: &Path| {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(place, companion.bytes)?;
        leave_to_caller(folder.unwrap_or(place))
    };
    written(&place).with_context(|| format!("writing `{}`", place.display()))?;
    Ok(place)
}

fn list(json: bool, printer: &mut Printer) -> Result<ExitCode> {
    if json {
        let all: Vec<Listed<'_>> = RECIPES
            .iter()
            .map(|recipe| Listed {
                name: recipe.name,
                question: recipe.question(),
                everyday: recipe.kind == RecipeKind::Everyday,
            })
            .collect();
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&all)?));
        return Ok(ExitCode::Success);
    }
    let mut text = String::new();
    let width = RECIPES.iter().map(|recipe| recipe.name.len()).max().unwrap_or_default();
    for (kind, title) in [
        (RecipeKind::Everyday, "Everyday questions"),
        (RecipeKind::Field, "Questions of published investigations"),
    ] {
        writeln!(text, "{}", bold(title))?;
        for recipe in RECIPES.iter().filter(|recipe| recipe.kind == kind) {
            writeln!(text, "  {:width$}  {}", recipe.name, recipe.question())?;
        }
        text.push('\n');
    }
    text.push_str("`iostone new NAME` writes NAME.toml; `iostone run NAME` runs it as it is.\n");
    printer.data(&text);
    Ok(ExitCode::Success)
}
