//! Reads what the tools print: rates by their own account, and I/Os for the cost of one.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cases::Case;
use crate::child::Child;
use crate::figures::Trial;
use crate::tools::{Found, Tool};

/// The figures of one run of a tool.
///
/// # Errors
/// When the output is not what this tool prints.
pub(crate) fn trial(tool: Tool, case: &Case, seconds: u64, found: &Found, child: &Child) -> Result<Trial> {
    let (iops, spent_on) = match tool {
        Tool::Iostone | Tool::IostoneAnywhere => of_iostone(&child.output)?,
        Tool::FioDefault | Tool::FioBest | Tool::FioPsync => of_fio(&child.output)?,
        Tool::TIoUring => {
            let iops = of_t_io_uring(&child.output)?;
            (iops, iops * seconds as f64)
        }
    };
    let start_seconds = if tool.is_fio() { found.fio_start_seconds } else { 0.0 };
    let per_io = |amount: f64| amount / spent_on.max(1.0);
    Ok(Trial {
        iops,
        bytes_per_second: iops * case.block_bytes as f64,
        cpu_seconds_per_io: per_io((child.cpu_seconds - start_seconds).max(0.0)),
        instructions_per_io: child.instructions.map(|count| per_io(count as f64)),
    })
}

/// Rate, and all I/Os that processor time was spent on.
fn of_iostone(output: &str) -> Result<(f64, f64)> {
    let document: Value = serde_json::from_str(output).context("no JSON")?;
    let job = &document["jobs"][0];
    let iops = job["iops"].as_f64().context("no `jobs[0].iops`")?;
    Ok((iops, job["reads"]["ios"].as_f64().context("no `jobs[0].reads.ios`")?))
}

fn of_fio(output: &str) -> Result<(f64, f64)> {
    // Warnings come before the document.
    let json = output.find('{').and_then(|start| output.get(start..)).context("no JSON")?;
    let document: Value = serde_json::from_str(json)?;
    let read = &document["jobs"][0]["read"];
    let iops = read["iops"].as_f64().context("no `jobs[0].read.iops`")?;
    Ok((iops, read["total_ios"].as_f64().context("no `jobs[0].read.total_ios`")?))
}

/// The mean of the lines `IOPS=1.88M, BW=7.35GiB/s, IOS/call=32/32`, one for each second.
pub(crate) fn of_t_io_uring(output: &str) -> Result<f64> {
    let rates: Vec<f64> = output
        .lines()
        .filter_map(|line| line.strip_prefix("IOPS="))
        .filter_map(|line| amount(line.split(',').next()?))
        .collect();
    if rates.is_empty() {
        return Err(anyhow::anyhow!("no line `IOPS=`: {output}"));
    }
    Ok(rates.iter().sum::<f64>() / rates.len() as f64)
}

/// `1.88M`, `629K` or `5234` as a number.
fn amount(text: &str) -> Option<f64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'M' => (text.get(..text.len() - 1)?, 1e6),
        b'K' => (text.get(..text.len() - 1)?, 1e3),
        _ => (text, 1.0),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}
