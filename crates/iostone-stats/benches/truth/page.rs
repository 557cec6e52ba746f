//! The tables of `docs/concepts/truth.md`.

use std::fmt::Write as _;
use std::path::Path;

use crate::covariates::{self, Adjusted, COMPARED, Way};
use crate::curves::Saving;
use crate::design::{BEYOND, Family, RATIOS, keeps_premise, same};
use crate::rates::Rate;
use crate::sweeps::{Row, Tally};
use crate::{Cell, Peer, Task};

const BEGIN: &str = "<!-- truth: begin -->";
const END: &str = "<!-- truth: end -->";

/// Mean blocks to the last verdict, over all models that keep the premise.
pub(crate) fn mean_blocks(tasks: &[Task], cells: &[Cell], family: Family, ratio: f64) -> f64 {
    let of = find(tasks, cells, family, ratio);
    of.iter().map(|(_, cell)| cell.last_verdict()).sum::<f64>() / of.len().max(1) as f64
}

fn find<'a>(tasks: &'a [Task], cells: &'a [Cell], family: Family, ratio: f64) -> Vec<(&'a Task, &'a Cell)> {
    let wanted = |(task, _): &(&Task, &Cell)| {
        keeps_premise(task.model, family) && task.family == family && same(task.ratio, ratio)
    };
    tasks.iter().zip(cells).filter(wanted).collect()
}

/// All tables as Markdown.
pub(crate) fn write(
    tasks: &[Task],
    cells: &[Cell],
    savings: &[Saving],
    adjusted: &[covariates::Row],
    peers: &[Peer],
    sweeps: &[(usize, Row)],
) -> String {
    let mut page = String::new();
    families(&mut page, tasks, cells);
    blocks(&mut page, tasks, cells);
    spared(&mut page, savings);
    disturbed(&mut page, adjusted);
    others(&mut page, tasks, cells, peers);
    raced(&mut page, sweeps);
    models(&mut page, tasks, cells);
    page
}

/// "4.3 % (at most 5.7)".
fn percent(rate: Rate) -> String {
    format!("{:.1} % (at most {:.1})", 100.0 * rate.share(), 100.0 * rate.bounds().1)
}

fn name(family: Family) -> String {
    match family {
        Family::Levels(1) => "1 level against a baseline".to_owned(),
        Family::Levels(levels) => format!("{levels} levels"),
        Family::Superblock(1) => "1 level, after a superblock".to_owned(),
        Family::Superblock(levels) => format!("{levels} levels, after a superblock"),
        Family::Grid(levels, points) => format!("{levels} levels in each of {points} strata"),
        Family::Strata(strata) => format!("{strata} strata, spreads 0.4 to 5 %"),
        Family::Points(points) => format!("a curve of {points} points"),
        Family::PointsApart(points) => format!("the same {points} points, each with its share of 5 %"),
    }
}

/// The rate that is worst over the models, and that of all together.
fn worst(of: &[(&Task, &Cell)], rate: impl Fn(&Cell) -> Rate) -> (Rate, Rate) {
    let all = of.iter().fold(Rate::default(), |sum, (_, cell)| sum.and(rate(cell)));
    let worst = of.iter().map(|(_, cell)| rate(cell)).max_by(|a, b| a.share().total_cmp(&b.share()));
    (worst.unwrap_or_default(), all)
}

const FAMILIES: [Family; 10] = [
    Family::Levels(1),
    Family::Levels(2),
    Family::Levels(3),
    Family::Levels(7),
    Family::Superblock(1),
    Family::Superblock(3),
    Family::Grid(7, 4),
    Family::Strata(28),
    Family::Points(28),
    Family::PointsApart(28),
];

fn families(page: &mut String, tasks: &[Task], cells: &[Cell]) {
    let _ = writeln!(
        page,
        "| compared | any false difference, ratio 1: worst noise, all | any false equivalence, ratio {BEYOND}: worst, all | \
         an interval misses the truth: worst, all |\n|---|---|---|---|"
    );
    for family in FAMILIES {
        let (equal, beyond) = (find(tasks, cells, family, 1.0), find(tasks, cells, family, BEYOND));
        let every: Vec<_> = RATIOS.into_iter().flat_map(|ratio| find(tasks, cells, family, ratio)).collect();
        let row = [
            worst(&equal, |cell| cell.different),
            worst(&beyond, |cell| cell.equivalent),
            worst(&every, |cell| cell.missed),
        ];
        let row = row.map(|(worst, all)| format!("{}, {:.1} %", percent(worst), 100.0 * all.share()));
        let _ = writeln!(page, "| {} | {} |", name(family), row.join(" | "));
    }
    page.push('\n');
}

fn blocks(page: &mut String, tasks: &[Task], cells: &[Cell]) {
    let head = RATIOS.map(|ratio| ratio.to_string()).join(" | ");
    let _ =
        writeln!(page, "| mean blocks to the verdict, of at most 40 | {head} |\n|---|---|---|---|---|---|");
    for family in &FAMILIES[..6] {
        let last = RATIOS.map(|ratio| format!("{:.1}", mean_blocks(tasks, cells, *family, ratio)));
        let _ = writeln!(page, "| {} | {} |", name(*family), last.join(" | "));
    }
    for family in [Family::Points(28), Family::PointsApart(28)] {
        let first = RATIOS.map(|ratio| {
            let of = find(tasks, cells, family, ratio);
            format!(
                "{:.1}",
                of.iter().map(|(_, cell)| cell.first_verdict()).sum::<f64>() / of.len().max(1) as f64
            )
        });
        let last = RATIOS.map(|ratio| format!("{:.1}", mean_blocks(tasks, cells, family, ratio)));
        let _ = writeln!(page, "| {}: first point | {} |", name(family), first.join(" | "));
        let _ = writeln!(page, "| {}: last point | {} |", name(family), last.join(" | "));
    }
    page.push('\n');
}

fn spared(page: &mut String, savings: &[Saving]) {
    let _ = writeln!(
        page,
        "| 28 points, common, own spread of a ratio | true ratio | blocks to the first point: apart, together | to all: apart, together | \
         spared |\n|---|---|---|---|---|"
    );
    for saving in savings {
        let [first, all] = saving.shares().map(|share| 100.0 * share);
        let _ = writeln!(
            page,
            "| {:.0} %, {:.0} % | {} | {:.1}, {:.1} | {:.1}, {:.1} | {first:.0} %, {all:.0} % |",
            100.0 * saving.spread.common,
            100.0 * saving.spread.own,
            saving.ratio,
            saving.apart[0],
            saving.together[0],
            saving.apart[1],
            saving.together[1],
        );
    }
    page.push('\n');
}

fn others(page: &mut String, tasks: &[Task], cells: &[Cell], peers: &[Peer]) {
    let head = RATIOS.map(|ratio| format!("trials at {ratio}")).join(" | ");
    let _ = writeln!(
        page,
        "| way | worst false difference | worst false equivalence | worst coverage | {head} |\n\
         |---|---|---|---|---|---|---|---|---|"
    );
    let (equal, beyond) =
        (find(tasks, cells, Family::Levels(1), 1.0), find(tasks, cells, Family::Levels(1), BEYOND));
    let missed = single(tasks, cells)
        .into_iter()
        .filter(|of| of.iter().all(|(task, _)| task.model.keeps_premise))
        .map(|of| missed(&of).share())
        .fold(0.0, f64::max);
    let trials = RATIOS
        .map(|ratio| format!("{:.1}", 2.0 * mean_blocks(tasks, cells, Family::Levels(1), ratio)))
        .join(" | ");
    let _ = writeln!(
        page,
        "| iostone | {:.1} % | {:.1} % | {:.1} % | {trials} |",
        100.0 * worst(&equal, |cell| cell.different).0.share(),
        100.0 * worst(&beyond, |cell| cell.equivalent).0.share(),
        100.0 * (1.0 - missed)
    );
    for peer in peers {
        let trials: Vec<String> = peer.trials.iter().map(|trials| format!("{trials:.1}")).collect();
        let tell = |(rate, model): (Rate, &str), is_coverage: bool| match (rate.of, is_coverage) {
            (0, _) => "-".to_owned(),
            (_, false) => format!("{:.1} % ({model})", 100.0 * rate.share()),
            (_, true) => format!("{:.1} % ({model})", 100.0 * (1.0 - rate.share())),
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            peer.name,
            tell(peer.different, false),
            tell(peer.equivalent, false),
            tell(peer.missed, true),
            trials.join(" | ")
        );
    }
    page.push('\n');
}

/// Of each model, one level against a baseline at all ratios.
fn single<'a>(tasks: &'a [Task], cells: &'a [Cell]) -> Vec<Vec<(&'a Task, &'a Cell)>> {
    let of: Vec<_> = tasks.iter().zip(cells).filter(|(task, _)| task.family == Family::Levels(1)).collect();
    of.chunks(RATIOS.len()).map(<[_]>::to_vec).collect()
}

fn missed(of: &[(&Task, &Cell)]) -> Rate {
    of.iter().fold(Rate::default(), |sum, (_, cell)| sum.and(cell.missed))
}

fn disturbed(page: &mut String, rows: &[covariates::Row]) {
    let head = COMPARED.map(|ratio| format!("blocks at {ratio}")).join(" | ");
    let _ = writeln!(
        page,
        "| noise, burst, share that the level draws | judged | false difference | false equivalence | interval misses | withheld at 1 | {head} |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    for (disturbance, way, cells) in rows {
        let way = match way {
            Way::Measured => "as measured",
            Way::FixedSlope => "adjusted, slope off by a fifth",
            Way::Pilots => "adjusted, slope of two pilots of 30 s",
        };
        let at = |wanted: f64| {
            COMPARED.iter().zip(cells).find(|(ratio, _)| same(**ratio, wanted)).map(|(_, cell)| *cell)
        };
        let rate = |cell: Option<Adjusted>, of: fn(&Adjusted) -> Rate| {
            cell.map_or(0.0, |cell| 100.0 * of(&cell).share())
        };
        let misses = cells.iter().fold(Rate::default(), |sum, cell| sum.and(cell.missed));
        let blocks: Vec<String> = cells.iter().map(|cell| format!("{:.1}", cell.mean_blocks())).collect();
        let _ = writeln!(
            page,
            "| {:.0} %, {:.0} %, {:.0} % | {way} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {} |",
            100.0 * disturbance.noise,
            100.0 * disturbance.burst,
            100.0 * disturbance.moved,
            rate(at(1.0), |cell| cell.different),
            rate(at(BEYOND), |cell| cell.equivalent),
            100.0 * misses.share(),
            rate(at(1.0), |cell| cell.withheld),
            blocks.join(" | ")
        );
    }
    page.push('\n');
}

fn raced(page: &mut String, rows: &[(usize, Row)]) {
    let _ = writeln!(
        page,
        "| levels | mean trials: sweep, race of all | best within the margin named | wrong | left open |\n|---|---|---|---|---|"
    );
    for (levels, row) in rows {
        let both = |of: &dyn Fn(&Tally) -> f64, digits: usize| {
            format!("{:.digits$}, {:.digits$}", of(&row.sweep), of(&row.race))
        };
        let share = |of: &dyn Fn(&Tally) -> u32| {
            both(&|tally| 100.0 * f64::from(of(tally)) / f64::from(tally.runs.max(1)), 1)
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} % | {} % | {} % |",
            levels,
            both(&|tally| f64::from(tally.trials) / f64::from(tally.runs.max(1)), 1),
            share(&|tally| tally.picked),
            share(&|tally| tally.wrong),
            share(&|tally| tally.open)
        );
    }
    page.push('\n');
}

fn models(page: &mut String, tasks: &[Task], cells: &[Cell]) {
    let head = RATIOS.map(|ratio| format!("blocks at {ratio}")).join(" | ");
    let _ = writeln!(
        page,
        "| noise | false difference | false equivalence | interval misses | withheld, marked for carry-over at 1 | {head} |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    );
    for of in single(tasks, cells) {
        let Some((task, equal)) = of.first() else { continue };
        let missed = missed(&of);
        let beyond = of.iter().find(|(task, _)| same(task.ratio, BEYOND)).map(|(_, cell)| cell.equivalent);
        let blocks: Vec<String> = of.iter().map(|(_, cell)| format!("{:.1}", cell.last_verdict())).collect();
        let share = |rate: Rate| format!("{:.1} %", 100.0 * rate.share());
        let mark = if task.model.keeps_premise { "" } else { " (breaks the premise)" };
        let _ = writeln!(
            page,
            "| {}{mark} | {} | {} | {} | {}, {} | {} |",
            task.model.name,
            share(equal.different),
            share(beyond.unwrap_or_default()),
            share(missed),
            share(equal.withheld),
            share(equal.unchecked),
            blocks.join(" | ")
        );
    }
}

/// Puts the tables between their marks in the page.
pub(crate) fn replace(tables: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/truth.md");
    let page = std::fs::read_to_string(&path).expect("the page of the truth");
    let (before, rest) = page.split_once(BEGIN).expect("a begin mark");
    let (_, after) = rest.split_once(END).expect("an end mark");
    std::fs::write(&path, format!("{before}{BEGIN}\n\n{tables}\n{END}{after}"))
        .expect("the page can be written");
}
