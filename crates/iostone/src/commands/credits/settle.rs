//! Settles what the command line left open: the law, what it holds at the start, and what the work could use.

use anyhow::{Result, anyhow, bail};
use iostone_cloud::{CREDIT_SECONDS, Demand, LawState, allowance, allowances};
use iostone_model::experiment::{Allowance, AllowanceStart, Governor, Law};

use super::{CreditsArguments, Start, has_credits};

/// The smallest quota, 1 ms, of the longest period, a second (kernel/sched/core.c, `tg_set_cfs_bandwidth`).
const LEAST_LIMIT: f64 = 0.001;
/// Work that uses less of a processor is none.
const LEAST_UTILISATION: f64 = 1e-5;

/// Everything that a simulation needs.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) governor: Governor,
    pub(super) state: LawState,
    pub(super) demand: Demand,
    /// The utilisation asked for, where it is more than the instance has processors for.
    pub(super) cut_from: Option<f64>,
}

pub(super) fn settle(arguments: &CreditsArguments) -> Result<Settled> {
    let instance = arguments.instance.as_deref().unwrap_or_default();
    let allowance = law(instance, arguments)?;
    let work = arguments.work.unwrap_or_default();
    if work <= 0.0 {
        bail!("`--work` must be longer than 0; write the CPU time of the work, as in `--work 9.33min`");
    }
    let wanted = arguments.utilisation.0;
    if wanted <= 0.0 {
        bail!(
            "`--utilisation` must be above 0; write the share of a processor that the work uses, as in `--utilisation 63%`"
        );
    }
    if arguments.limit.is_some_and(|limit| limit.0 <= 0.0) {
        bail!(
            "`--limit` must be above 0; write the share of a processor that the work may use, as in `--limit 30%`"
        );
    }
    if arguments.limit.is_some_and(|limit| limit.0 < LEAST_LIMIT) {
        bail!("`--limit` is less than a kernel holds: 0.1 % of a processor, which is 1 ms in each second");
    }
    if wanted < LEAST_UTILISATION {
        bail!(
            "`--utilisation` is too small; write the share of a processor that the work uses, as in `--utilisation 63%`"
        );
    }
    if arguments.launch && matches!(allowance.law, Law::Credits { launch, .. } if launch <= 0.0) {
        bail!("`--launch`: `{instance}` has no launch credits under its law `{}`", allowance.name);
    }
    let processors = f64::from(allowance.vcpus);
    let demand = Demand {
        cpu_seconds: work,
        processors: wanted.min(processors),
        limit: arguments.limit.map(|limit| limit.0),
    };
    let cut_from = (wanted > processors).then_some(wanted);
    let state = state_under(&allowance, arguments)?;
    let governor = Governor { allowance, speed: 1.0, start: start(arguments) };
    Ok(Settled { governor, state, demand, cut_from })
}

/// The law that `--law`, `--unlimited` or `--standard` names, or the type's default.
fn law(instance: &str, arguments: &CreditsArguments) -> Result<Allowance> {
    if !arguments.unlimited && !arguments.standard {
        return Ok(allowance(instance, arguments.law.as_deref())?);
    }
    let wanted = arguments.unlimited;
    let mode = |allowance: &Allowance| matches!(allowance.law, Law::Credits { unlimited, .. } if unlimited == wanted);
    allowances(instance)?.into_iter().find(mode).ok_or_else(|| {
        let option = if wanted { "--unlimited" } else { "--standard" };
        anyhow!("`{option}` is about CPU credits, and `{instance}` has none")
    })
}

/// A law of the type with what the command line says of its start.
pub(super) fn state_under(allowance: &Allowance, arguments: &CreditsArguments) -> Result<LawState> {
    let governor = Governor { allowance: allowance.clone(), speed: 1.0, start: start(arguments) };
    let begun = LawState::begin(&governor);
    let Law::Credits { launch, maximum, .. } = allowance.law else {
        if arguments.balance.is_some() {
            bail!(
                "`--balance` is about CPU credits, and `{}` has none; say `--start full` or `empty`",
                allowance.instance
            );
        }
        if arguments.launch || arguments.no_launch {
            let option = if arguments.launch { "--launch" } else { "--no-launch" };
            bail!("`{option}` is about CPU credits, and `{}` has none", allowance.instance);
        }
        return Ok(begun);
    };
    let given = match (arguments.launch, arguments.no_launch) {
        (true, _) => launch * CREDIT_SECONDS,
        (_, true) => 0.0,
        // A balance that is told has them in it.
        _ if arguments.balance.is_some() => 0.0,
        _ => begun.launch_seconds(),
    };
    let earned = match arguments.balance {
        None => begun.balance_seconds() - begun.launch_seconds(),
        Some(credits) if (0.0..=maximum).contains(&credits) => credits * CREDIT_SECONDS,
        Some(credits) => bail!(
            "`--balance {credits}` is more or less than `{}` can hold: 0 to {maximum} credits, launch credits beside them with \
             `--launch`",
            allowance.instance
        ),
    };
    Ok(LawState::holding(&governor, earned, given))
}

fn start(arguments: &CreditsArguments) -> AllowanceStart {
    debug_assert!(arguments.balance.is_none() || arguments.start == Start::Launch);
    match arguments.start {
        Start::Full => AllowanceStart::Full,
        Start::Launch => AllowanceStart::Launch,
        Start::Empty => AllowanceStart::Empty,
    }
}

/// How people count what the law keeps: credits, or CPU seconds.
pub(super) fn amount(allowance: &Allowance, cpu_seconds: f64) -> String {
    use iostone_model::units::three_digits;
    // Rounding residue.
    let cpu_seconds = if cpu_seconds.abs() < 1e-3 { 0.0 } else { cpu_seconds };
    if has_credits(allowance) {
        three_digits(cpu_seconds / CREDIT_SECONDS)
    } else {
        format!("{} CPU s", three_digits(cpu_seconds))
    }
}
