//! Writes a page of made-up figures, to look at: `cargo run --example sample_report -- PATH [barrier|five|...]`.

#[path = "../tests/support/scenes.rs"]
mod scenes;
#[path = "../tests/support/synthetic.rs"]
mod synthetic;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which file shall the page be written to?")?;
    let scene = arguments.next().unwrap_or_else(|| "five".to_owned());
    let named = scenes::ALL.iter().find(|(name, _)| *name == scene);
    let (_, make) = named.ok_or_else(|| format!("no scene is called `{scene}`"))?;
    std::fs::write(path, iostone_report::html(&make())?)?;
    Ok(())
}
