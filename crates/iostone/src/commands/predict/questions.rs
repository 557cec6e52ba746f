//! The questions that a command line asks: one for each instance with each volume.

use std::time::Duration;

use anyhow::{Result, bail};
use iostone_cloud::explain::USUAL_DIRTY_SHARE;
use iostone_cloud::{Amount, CacheUse, Catalogue, FilesystemKind, Pattern, Question, Work};
use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::experiment::{Array, Burst, Link, MdArray};
use iostone_model::units::{Bytes, Fraction, Span};
use iostone_model::verdict::Flag;

use super::quantities::{CpuUse, Parsed, amount_mistake, link_mistake};
use super::{MadeOn, PredictArguments};

/// A question, what is doubtful in how it was asked, and what was taken for granted because it was not said.
pub(super) struct Doubted {
    pub(super) question: Question,
    pub(super) mistakes: Vec<Flag>,
    pub(super) assumptions: Vec<String>,
}

/// Said where a filesystem is assumed.
const ASSUMED_FILESYSTEM: &str = "assuming a new ext4 on the volumes; change it with `--filesystem`";

/// Every question, in the order of the instances.
pub(super) fn of(arguments: &PredictArguments, catalogue: &Catalogue) -> Result<Vec<Doubted>> {
    let (processors, cpu_seconds_per_byte) = cpu(&arguments.cpu)?;
    let mut work = work(arguments)?;
    work.cpu_seconds_per_byte = cpu_seconds_per_byte;
    let date = arguments.date.unwrap_or_else(|| CatalogueDate::of_day(jiff::Zoned::now().date()));
    let each = |instance: Option<&String>, volumes: Option<&Parsed<VolumeSpec>>| {
        let mut question = Question::new(work.clone(), date);
        question.instance = instance.cloned();
        question.volumes = volumes.map(|asked| asked.value.clone());
        question.array = arguments.raid.map_or(Array::None, |raid| {
            Array::Md(MdArray { level: raid.into(), chunk: None, metadata: None })
        });
        let on = arguments.filesystem.unwrap_or(MadeOn::Ext4);
        question.filesystem = volumes.and_then(|_| FilesystemKind::of(on.word()));
        let own = question.instance.as_deref().and_then(|name| catalogue.instance(name).ok()?.link());
        question.link = arguments.link.as_ref().map(|asked| with_iops_of(Link::of(asked.value), own));
        question.start = arguments.start;
        question.latency = arguments.latency.map(|seconds| Span(Duration::from_secs_f64(seconds)));
        question.processors = processors;
        question.region.clone_from(&arguments.region);
        let sequential_writes = arguments.write.is_some() && !arguments.random;
        let assumed = arguments.filesystem.is_none() && sequential_writes && volumes.is_some();
        let mut assumptions: Vec<String> =
            assumed.then(|| ASSUMED_FILESYSTEM.to_owned()).into_iter().collect();
        if let (Some(Link { iops: Some(iops), .. }), Some(name)) = (question.link, &question.instance) {
            assumptions.push(format!("the link has the bandwidth of `--link` and {name}'s {iops} IOPS"));
        }
        Doubted { mistakes: mistakes(arguments, catalogue, &question, volumes), assumptions, question }
    };
    let instances: Vec<Option<&String>> = some_or_none(&arguments.instance);
    let volumes: Vec<Option<&Parsed<VolumeSpec>>> = some_or_none(&arguments.volume);
    Ok(instances
        .iter()
        .flat_map(|instance| volumes.iter().map(|volumes| each(*instance, *volumes)))
        .collect())
}

fn some_or_none<T>(values: &[T]) -> Vec<Option<&T>> {
    if values.is_empty() { vec![None] } else { values.iter().map(Some).collect() }
}

fn work(arguments: &PredictArguments) -> Result<Work> {
    let bytes = |asked: &Option<Parsed<Bytes>>| asked.as_ref().map_or(Bytes(0), |asked| asked.value);
    let (read, write) = (bytes(&arguments.read), bytes(&arguments.write));
    let mut work = match arguments.span {
        Some(seconds) => Work::timed(Span(Duration::from_secs_f64(seconds)), arguments.written),
        None if read.0 == 0 && write.0 == 0 => {
            bail!("give the bytes to move: `--write SIZE`, `--read SIZE`, or `--for TIME`")
        }
        None => Work::sequential(read, write),
    };
    work.io_size = arguments.bs.as_ref().map(|asked| asked.value);
    if arguments.random {
        work.pattern = Pattern::Random;
    }
    work.depth = arguments.depth;
    work.source = arguments.source.as_ref().map(|asked| asked.value);
    if arguments.buffered {
        let writes = match work.amount {
            Amount::Bytes { write, .. } => write.0 > 0,
            Amount::Time { written_per_mille, .. } => written_per_mille > 0,
        };
        if !writes {
            bail!("`--buffered` applies to writes and nothing is written: omit it");
        }
        work.cache = CacheUse::Buffered { dirty_ratio: Fraction(USUAL_DIRTY_SHARE) };
    }
    Ok(work)
}

/// The limit of processors and the CPU time that a byte takes, each said once at most.
fn cpu(said: &[CpuUse]) -> Result<(Option<f64>, Option<f64>)> {
    let (mut limit, mut cost) = (None, None);
    for one in said {
        let (known, value, what) = match one {
            CpuUse::Share(share) => (&mut limit, share.0, "a limit, as 30%"),
            CpuUse::SecondsPerByte(seconds) => (&mut cost, *seconds, "CPU time per GiB, as in 2s/GiB"),
        };
        if known.replace(value).is_some() {
            bail!("`--cpu` was given twice with {what}: give it once");
        }
    }
    Ok((limit, cost))
}

/// A link of another bandwidth: requests are counted as they were.
fn with_iops_of(link: Link, own: Option<Link>) -> Link {
    let Some(own) = own else { return link };
    let burst = own.burst.filter(|burst| burst.iops.is_some());
    Link {
        iops: own.iops,
        burst: burst.map(|burst| Burst { throughput: None, credit_bytes: None, ..burst }),
        ..link
    }
}

/// What is doubtful in the units of a question.
fn mistakes(
    arguments: &PredictArguments,
    catalogue: &Catalogue,
    question: &Question,
    volumes: Option<&Parsed<VolumeSpec>>,
) -> Vec<Flag> {
    let sizes = [&arguments.read, &arguments.write, &arguments.bs].into_iter().flatten();
    let mut flags: Vec<Flag> = sizes.flat_map(|asked| asked.mistakes.clone()).collect();
    flags.extend(arguments.source.iter().flat_map(|asked| asked.mistakes.clone()));
    if let Some(asked) = &arguments.link {
        flags.extend(asked.mistakes.clone());
        let own = question.instance.as_deref().and_then(|name| catalogue.instance(name).ok()?.link());
        flags.extend(own.and_then(|own| link_mistake(asked, own.throughput.0 as f64)));
    }
    if let Some(volumes) = volumes {
        flags.extend(volumes.mistakes.clone());
        let amounts = [&arguments.read, &arguments.write].into_iter().flatten();
        flags.extend(amounts.filter_map(|asked| amount_mistake(asked, volumes)));
    }
    flags
}
