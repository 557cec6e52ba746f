//! A server's side of steering: one line in, one line out, whatever the line is.

use iostone_model::units::Fraction;

use crate::model::LinkState;

use super::{
    ControlReply, ControlRequest, CutReport, ServerReport, Setting, SteeredVolume, Steering, VolumeReport,
};

/// Carries out one request and gives the reply, a line of JSON without its newline. What is not a request is refused.
pub fn handle(line: &str, server: &mut Steering<'_>) -> String {
    let reply = match serde_json::from_str::<ControlRequest>(line.trim()) {
        Ok(request) => answer(request, server).unwrap_or_else(ControlReply::Refused),
        Err(error) => ControlReply::Refused(format!("not a request: {error}")),
    };
    serde_json::to_string(&reply)
        .unwrap_or_else(|error| format!(r#"{{"refused":"the reply could not be written: {error}"}}"#))
}

fn answer(request: ControlRequest, server: &mut Steering<'_>) -> Result<ControlReply, String> {
    let now_ns = server.now_ns;
    match request {
        ControlRequest::Counters { volume } => {
            let volumes = chosen(server, volume.as_deref())?.map(|volume| report(volume, now_ns)).collect();
            return Ok(ControlReply::Counters(report_with(volumes, server.link, now_ns)));
        }
        ControlRequest::ResetCounters { volume } => {
            chosen(server, volume.as_deref())?.for_each(|volume| volume.state.reset_counters());
            if volume.is_none() {
                server.link.reset_counters();
            }
        }
        ControlRequest::Set { volume, settings } => set(server, volume.as_deref(), &settings)?,
        ControlRequest::Cut { volume, keep } => return cut(server, volume.as_deref(), keep),
        ControlRequest::Restore { volume } => restore(server, volume.as_deref())?,
        ControlRequest::Stall { volume, lasts } => {
            chosen(server, volume.as_deref())?.for_each(|volume| volume.state.stall(lasts, now_ns));
        }
        ControlRequest::Fill { volume, credits, credit_bytes } => {
            for volume in chosen(server, volume.as_deref())? {
                let counters = volume.state.counters();
                let there = (counters.credits, counters.credit_bytes);
                check_buckets(&format!("`{}`", volume.name), there, credits, credit_bytes)?;
            }
            for volume in chosen(server, volume.as_deref())? {
                credits.map(|ios| volume.state.set_credits(ios, now_ns));
                credit_bytes.map(|bytes| volume.state.set_credit_bytes(bytes, now_ns));
            }
        }
        ControlRequest::FillLink { credits, credit_bytes } => {
            let before = server.link.counters_at(now_ns);
            check_buckets("the link", (before.credits, before.credit_bytes), credits, credit_bytes)?;
            credits.map(|ios| server.link.set_credits(ios, now_ns));
            credit_bytes.map(|bytes| server.link.set_credit_bytes(bytes, now_ns));
        }
        ControlRequest::Begin => {
            chosen(server, None)?.for_each(|volume| volume.state.begin_workload(now_ns));
            server.link.begin(now_ns);
        }
        ControlRequest::End => *server.end = true,
    }
    Ok(ControlReply::Done)
}

/// The volume of that name, or all.
fn chosen<'s, 'a>(
    server: &'s mut Steering<'a>,
    name: Option<&str>,
) -> Result<impl Iterator<Item = &'s mut SteeredVolume<'a>>, String> {
    if let Some(name) = name
        && !server.volumes.iter().any(|volume| volume.name == name)
    {
        let names: Vec<String> = server.volumes.iter().map(|volume| format!("`{}`", volume.name)).collect();
        return Err(format!("there is no volume `{name}`; the volumes are {}", names.join(", ")));
    }
    let name = name.map(str::to_owned);
    Ok(server.volumes.iter_mut().filter(move |volume| name.as_deref().is_none_or(|name| volume.name == name)))
}

fn report(volume: &SteeredVolume<'_>, now_ns: u64) -> VolumeReport {
    VolumeReport {
        name: volume.name.to_owned(),
        counters: volume.state.counters_at(now_ns),
        cache: volume.cache.as_ref().map(|cache| cache.cache_counters()),
        store_failures: volume.store_failures,
    }
}

fn report_with(volumes: Vec<VolumeReport>, link: &LinkState, now_ns: u64) -> ServerReport {
    let counters = link.counters_at(now_ns);
    ServerReport {
        volumes,
        link: link.link().map(|link| link.throughput),
        link_iops: link.link().and_then(|link| link.iops),
        link_bytes: counters.bytes,
        link_ios: counters.ios,
        link_credit_bytes: counters.credit_bytes,
        link_credits: counters.credits,
        at_ns: now_ns,
    }
}

fn set(server: &mut Steering<'_>, volume: Option<&str>, settings: &[Setting]) -> Result<(), String> {
    let mut has_link = server.link.link().is_some();
    for setting in settings {
        setting.check().map_err(|error| error.to_string())?;
        match setting {
            Setting::Link(rate) => has_link = rate.is_some(),
            Setting::LinkIops(Some(_)) if !has_link => {
                return Err("there is no link to limit; set `link=RATE` first".to_owned());
            }
            _ => {}
        }
    }
    let now_ns = server.now_ns;
    for volume in chosen(server, volume)? {
        let state = &mut *volume.state;
        for setting in settings {
            match *setting {
                Setting::Iops(iops) => state.set_iops(iops, now_ns),
                Setting::Throughput(rate) => state.set_throughput(rate, now_ns),
                Setting::Latency(latency) => state.set_latency(latency),
                Setting::WriteLatency(latency) => state.set_write_latency(latency),
                Setting::FlushLatency(latency) => state.set_flush_latency(latency),
                Setting::LatencySpread(spread) => state.set_latency_spread(spread),
                Setting::Link(_) | Setting::LinkIops(_) => {}
            }
        }
    }
    for setting in settings {
        match *setting {
            Setting::Link(rate) => server.link.set_rate(rate, now_ns),
            Setting::LinkIops(iops) => {
                server.link.set_iops(iops, now_ns);
            }
            _ => {}
        }
    }
    Ok(())
}

fn cut(server: &mut Steering<'_>, volume: Option<&str>, keep: Fraction) -> Result<ControlReply, String> {
    let now_ns = server.now_ns;
    if !(0.0..=1.0).contains(&keep.0) {
        return Err(format!("`{keep}` must be 0% to 100% of the unflushed blocks"));
    }
    let mut reports = Vec::new();
    for volume in chosen(server, volume)? {
        if !volume.state.is_powered() {
            return Err(format!("the power of `{}` is already off; restore it with `restore`", volume.name));
        }
        volume.state.set_powered(false);
        volume.state.abandon_backlog(now_ns);
        let cache =
            volume.cache.as_deref_mut().map(|cache| cache.power_cut(keep)).transpose().map_err(|error| {
                format!(
                    "the power of `{}` is off, but the blocks to keep could not be written: {error}",
                    volume.name
                )
            })?;
        reports.push(CutReport { name: volume.name.to_owned(), cache });
    }
    Ok(ControlReply::Cut(reports))
}

/// Switches the power on where it is off.
fn restore(server: &mut Steering<'_>, volume: Option<&str>) -> Result<(), String> {
    if chosen(server, volume)?.all(|volume| volume.state.is_powered()) {
        let whose = volume.map_or("every volume".to_owned(), |name| format!("`{name}`"));
        return Err(format!("the power of {whose} is already on"));
    }
    for volume in chosen(server, volume)?.filter(|volume| !volume.state.is_powered()) {
        volume.state.set_powered(true);
        if let Some(cache) = volume.cache.as_deref_mut() {
            cache.restore();
        }
    }
    Ok(())
}

/// Refuses to fill a bucket that is not there; `there` is what the buckets of I/Os and of bytes hold.
fn check_buckets(
    whose: &str,
    there: (Option<f64>, Option<f64>),
    credits: Option<u64>,
    credit_bytes: Option<u64>,
) -> Result<(), String> {
    let missing = |what: &str| Err(format!("{whose} has no burst bucket of {what}"));
    if credits.is_some() && there.0.is_none() {
        return missing("I/Os");
    }
    if credit_bytes.is_some() && there.1.is_none() {
        return missing("bytes");
    }
    Ok(())
}
