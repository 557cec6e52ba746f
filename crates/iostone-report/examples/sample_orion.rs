//! Writes pages of made-up ORION tests, to look at: `cargo run --example sample_orion -- FOLDER`.

#[path = "../tests/support/calibrations.rs"]
mod calibrations;
#[path = "../tests/support/curve_scenes.rs"]
mod curve_scenes;
#[path = "../tests/support/synthetic.rs"]
mod synthetic;

use std::error::Error;
use std::path::Path;

use iostone_report::{TextStyle, html, orion_html, orion_text};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("in which folder shall the pages be written?")?;
    let folder = Path::new(&folder);
    for (name, make) in calibrations::ALL {
        let record = make();
        let findings = calibrations::findings(&record);
        std::fs::write(folder.join(format!("orion-{name}.html")), orion_html(&record, &findings)?)?;
        let text = orion_text(&record, &findings, TextStyle::default());
        std::fs::write(folder.join(format!("orion-{name}.txt")), text)?;
    }
    for (name, make) in curve_scenes::ALL {
        std::fs::write(folder.join(format!("curves-{name}.html")), html(&make())?)?;
    }
    Ok(())
}
