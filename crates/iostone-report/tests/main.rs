//! Reports of made-up runs, as text, page and document.

#[path = "support/calibrations.rs"]
mod calibrations;
#[path = "support/curve_scenes.rs"]
mod curve_scenes;
mod curves;
mod document;
mod landing;
mod limits;
#[path = "support/markup.rs"]
mod markup;
mod orion;
mod page;
#[path = "support/scenes.rs"]
mod scenes;
mod screen;
#[path = "support/synthetic.rs"]
mod synthetic;
mod terminal;
mod terminal_curves;
