//! The page's section on where the bytes landed.

use iostone_model::run::RunRecord;

use crate::landing::{self, Cost, Landing, landings, told_costs};
use crate::svg::Drawing;
use crate::svg::marker::colour_class;
use crate::view::View;

/// Width and height of a bar in pixels.
const BAR: (f64, f64) = (64.0, 10.0);

/// Where a configuration worked.
pub(super) struct PlaceLine {
    pub(super) mark: String,
    pub(super) name: String,
    pub(super) place: String,
    pub(super) layers: String,
    pub(super) mount: String,
    pub(super) mount_line: String,
    pub(super) sync: &'static str,
    pub(super) device: String,
    pub(super) engine: String,
}

/// What its work took: the figure, its bar, and what belongs to it.
pub(super) struct CostLine {
    pub(super) mark: String,
    pub(super) name: String,
    pub(super) cells: Vec<CostCell>,
}

/// One figure.
pub(super) struct CostCell {
    pub(super) head: &'static str,
    pub(super) value: String,
    pub(super) bar: String,
    pub(super) note: String,
}

/// Everything that the section shows.
pub(super) struct LandingSection {
    pub(super) places: Vec<PlaceLine>,
    pub(super) has_containers: bool,
    pub(super) has_engines: bool,
    pub(super) heads: Vec<&'static str>,
    pub(super) costs: Vec<CostLine>,
    pub(super) note: String,
}

impl LandingSection {
    /// The section; nothing where it does not matter, see [`landings`].
    pub(super) fn of(run: &RunRecord, view: &View<'_>) -> Option<Self> {
        let landings = landings(run, view);
        if landings.is_empty() {
            return None;
        }
        let told = told_costs(&landings);
        let longest =
            |cost: Cost| landings.iter().filter_map(|landing| landing.cost(cost)).fold(0.0, f64::max);
        let costs = landings.iter().filter(|_| !told.is_empty()).map(|landing| CostLine {
            mark: mark(landing),
            name: landing.name.to_owned(),
            cells: told.iter().map(|cost| cell(landing, *cost, longest(*cost))).collect(),
        });
        Some(Self {
            has_containers: landings.iter().any(|landing| landing.container.is_some()),
            has_engines: landings.iter().any(|landing| landing.engine().is_some()),
            heads: told.iter().map(|cost| cost.name()).collect(),
            costs: costs.collect(),
            places: landings.iter().map(place_line).collect(),
            note: landing::note(&landings),
        })
    }
}

fn mark(landing: &Landing<'_>) -> String {
    let mut mark = Drawing::new(14.0, 14.0);
    mark.mark(landing.index, "mark", (7.0, 7.0), 5.0, "");
    mark.finish_hidden()
}

fn place_line(landing: &Landing<'_>) -> PlaceLine {
    PlaceLine {
        mark: mark(landing),
        name: landing.name.to_owned(),
        place: landing.place(),
        layers: landing.layers(),
        mount: landing.mount(),
        mount_line: landing.container.map(|container| container.mount_line.clone()).unwrap_or_default(),
        sync: landing.sync,
        device: landing.device.clone().unwrap_or_else(|| "memory".to_owned()),
        engine: landing.engine().unwrap_or_default(),
    }
}

fn cell(landing: &Landing<'_>, cost: Cost, longest: f64) -> CostCell {
    let value = landing.cost(cost);
    let note = landing.extents_note().filter(|_| cost == Cost::Extents).unwrap_or_default();
    CostCell {
        head: cost.name(),
        value: value.map_or_else(|| "not told".to_owned(), |value| cost.write(value)),
        bar: value
            .filter(|_| longest > 0.0)
            .map(|value| bar(landing.index, value / longest))
            .unwrap_or_default(),
        note,
    }
}

/// A bar as long as its share of the column's longest.
fn bar(index: usize, share: f64) -> String {
    let mut drawing = Drawing::new(BAR.0, BAR.1);
    drawing.rect("band", (0.0, 0.0), BAR, "");
    drawing.rect(
        &format!("{} mark", colour_class(index)),
        (0.0, 0.0),
        (BAR.0 * share.clamp(0.0, 1.0), BAR.1),
        "",
    );
    drawing.finish_hidden()
}
