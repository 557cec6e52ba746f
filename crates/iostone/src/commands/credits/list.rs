//! The list of what is known: types, laws, figures, and what each rests on.

use std::fmt::Write;

use anyhow::Result;
use iostone_cloud::{allowances, governed_types};
use iostone_model::experiment::{Allowance, Basis, Law};
use iostone_model::figures::counted;
use iostone_model::units::three_digits;
use serde::Serialize;

use super::text::{percent, table};
use crate::printer::bold;

#[derive(Serialize)]
struct Listed<'a> {
    schema: &'static str,
    allowances: &'a [Allowance],
}

/// Every law of that type, or of all types.
pub(super) fn of(instance: Option<&str>) -> Result<Vec<Allowance>> {
    if let Some(instance) = instance {
        return Ok(allowances(instance)?);
    }
    let mut all = Vec::new();
    for instance in governed_types() {
        all.extend(allowances(instance)?);
    }
    Ok(all)
}

pub(super) fn json(shown: &[Allowance]) -> Result<String> {
    let listed = Listed { schema: "iostone/allowances/1", allowances: shown };
    Ok(format!("{}\n", serde_json::to_string_pretty(&listed)?))
}

pub(super) fn text(shown: &[Allowance]) -> String {
    let mut rows = vec![["type", "law", "figures", "basis"].map(str::to_owned).to_vec()];
    let mut last = "";
    for allowance in shown {
        let instance = if allowance.instance == last { "" } else { &allowance.instance };
        last = &allowance.instance;
        let cells = [instance, &allowance.name, &figures(allowance), basis(allowance.basis)];
        rows.push(cells.map(str::to_owned).to_vec());
    }
    let mut text = table(&rows, &[]);
    let mut sources: Vec<&str> = Vec::new();
    for allowance in shown {
        // A share's source tells its own figures; the first of them stands for all.
        if !sources.contains(&allowance.source.as_str()) {
            sources.push(&allowance.source);
        }
    }
    if shown.iter().all(|allowance| allowance.instance == last) {
        let _ = writeln!(text, "\n{}", bold("Sources"));
        for source in sources {
            let _ = writeln!(text, "  {source}");
        }
    } else {
        let _ = writeln!(
            text,
            "\nThe first law of a type holds unless another is named. `iostone credits --list TYPE` tells its sources."
        );
    }
    text
}

/// A law's figures in a few words.
pub(super) fn figures(allowance: &Allowance) -> String {
    match &allowance.law {
        Law::Share { share } => format!("{} of the fastest processor", percent(share.0)),
        Law::Bucket { capacity_seconds, refill, throttled_refill, slow, .. } => {
            let slower = if throttled_refill == refill {
                String::new()
            } else {
                format!(", {} while slow", percent(throttled_refill.0))
            };
            format!(
                "{} CPU s, refilled at {}{slower}; empty: {} until full",
                three_digits(*capacity_seconds),
                percent(refill.0),
                percent(slow.0)
            )
        }
        Law::Window { window_seconds, threshold, slow } => {
            format!("above {} of the last {window_seconds} s: {}", percent(threshold.0), percent(slow.0))
        }
        Law::Credits { baseline, earned_per_hour, maximum, launch, unlimited } => {
            let at_launch = if *launch > 0.0 { format!(", {launch} at launch") } else { String::new() };
            let empty = if *unlimited {
                "without any: full speed, for money".to_owned()
            } else {
                format!("without any: {} of {}", percent(baseline.0), processors(allowance.vcpus))
            };
            format!("{earned_per_hour} credits/h, at most {maximum}{at_launch}; {empty}")
        }
    }
}

fn processors(vcpus: u32) -> String {
    counted(vcpus, "processor")
}

pub(super) fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Published => "published",
        Basis::Measured => "measured",
        Basis::Assumed => "assumed",
    }
}
