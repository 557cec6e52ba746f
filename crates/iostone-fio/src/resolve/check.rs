//! Options that cannot hold together, and those that hold but do nothing.

use iostone_model::load::Direction;
use iostone_model::units::Bytes;

use crate::job_file::{Remark, Section};
use crate::problem::{Problem, Reason};
use crate::values::ZoneMode;

/// Looks at one job.
pub(super) fn check_section(section: &Section, problems: &mut Vec<Problem>, remarks: &mut Vec<Remark>) {
    check_rates(section, problems);
    check_zones(section, problems);
    remark(section, remarks);
}

fn refuse(section: &Section, option: &str, why: String, problems: &mut Vec<Problem>) {
    let place = section.place_of(option).unwrap_or(&section.place);
    // Jobs that share a `[global]` share its mistakes.
    let problem = Problem::new(place, Reason::Contradiction { why });
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

fn check_rates(section: &Section, problems: &mut Vec<Problem>) {
    let options = &section.options;
    let rate = |direction| options.rate.of(direction).map_or(0, |rate: Bytes| rate.0);
    let least = |direction| options.rate_min.of(direction).map_or(0, |rate: Bytes| rate.0);
    let iops = |direction| u64::from(options.rate_iops.of(direction).unwrap_or(0));
    let least_iops = |direction| u64::from(options.rate_iops_min.of(direction).unwrap_or(0));
    let any =
        |read: &dyn Fn(Direction) -> u64| Direction::ALL.into_iter().any(|direction| read(direction) > 0);
    if any(&rate) && any(&iops) {
        refuse(section, "rate_iops", "`rate` and `rate_iops` exclude each other".into(), problems);
    }
    if any(&least) && any(&least_iops) {
        refuse(
            section,
            "rate_iops_min",
            "`rate_min` and `rate_iops_min` exclude each other".into(),
            problems,
        );
    }
    for direction in Direction::ALL {
        if rate(direction) > 0 && rate(direction) < least(direction) {
            refuse(section, "rate_min", "`rate_min` is above `rate`".into(), problems);
        }
        if iops(direction) > 0 && iops(direction) < least_iops(direction) {
            refuse(section, "rate_iops_min", "`rate_iops_min` is above `rate_iops`".into(), problems);
        }
    }
}

fn check_zones(section: &Section, problems: &mut Vec<Problem>) {
    let options = &section.options;
    let has_size = options.zonesize.is_some_and(|size| size.0 > 0);
    match options.zonemode {
        None | Some(ZoneMode::None) if has_size => {
            let why = "`zonesize` needs `zonemode=strided`, and it is `none`".into();
            refuse(section, "zonesize", why, problems);
        }
        Some(ZoneMode::Strided) if !has_size => {
            refuse(section, "zonemode", "`zonemode=strided` needs a `zonesize`".into(), problems);
        }
        _ => {}
    }
}

fn remark(section: &Section, remarks: &mut Vec<Remark>) {
    let options = &section.options;
    let mut say = |option: &str, text: String| {
        let place = section.place_of(option).unwrap_or(&section.place).clone();
        let remark = Remark { place, text };
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    };
    let has_runtime = options.runtime.is_some_and(|runtime| !runtime.0.is_zero());
    if options.time_based == Some(true) && !has_runtime {
        say("time_based", "`time_based` means nothing without a `runtime`".into());
    }
    let zoned = options.zonesize.is_some_and(|size| size.0 > 0);
    let given = [("zonerange", options.zonerange.is_some()), ("zoneskip", options.zoneskip.is_some())];
    for (option, is_given) in given {
        if is_given && !zoned {
            say(option, format!("`{option}` means nothing without a `zonesize`"));
        }
    }
    for (option, stronger, is_given) in [
        ("bs", "bsrange", options.bsrange.iter().any(Option::is_some)),
        ("bs", "bssplit", options.bssplit.iter().any(Option::is_some)),
        ("bsrange", "bssplit", options.bssplit.iter().any(Option::is_some)),
    ] {
        // Within one section the writer sees both lines.
        let own = section.given.iter().any(|given| given.name == option);
        let above = section.inherited.iter().any(|given| given.name == stronger);
        if own && above && is_given {
            say(option, format!("`{option}` gives way to the `{stronger}` of `[global]`, as it does in fio"));
        }
    }
    let names = |given: &[crate::job_file::Given]| given.iter().any(|given| given.name == "filename");
    if names(&section.given) && names(&section.inherited) {
        say("filename", "these files are used beside those of `[global]`, as fio does".into());
    }
    let aligned = Direction::ALL.into_iter().any(|direction| options.blockalign.of(direction).is_some());
    if aligned && options.access().rw.is_random() && options.norandommap != Some(true) {
        say(
            "blockalign",
            "`blockalign` other than the smallest block turns the map of visited blocks off".into(),
        );
    }
}

/// `wait_for` names one job above.
pub(super) fn check_waits(sections: &[Section], problems: &mut Vec<Problem>) {
    for (index, section) in sections.iter().enumerate() {
        let Some(awaited) = &section.options.wait_for else { continue };
        let count = sections[..index].iter().filter(|other| other.title() == awaited).count();
        let why = match count {
            1 => continue,
            0 if section.name == *awaited => "a job cannot wait for itself".to_owned(),
            0 => format!("there is no job `{awaited}` above to wait for"),
            _ => format!("there are {count} jobs `{awaited}` above to wait for"),
        };
        refuse(section, "wait_for", why, problems);
    }
}
