//! The words of iostone as types: experiments, trials and verdicts, their units and their JSON.
//!
//! Nothing here touches the machine. Every other crate speaks in these types, so a run recorded
//! by one version can be judged and drawn by another.

pub mod answer;
pub mod audit;
pub mod case;
pub mod ceiling;
pub mod cell;
pub mod cloud;
pub mod covariate;
pub mod dataset;
pub mod diagnostic;
pub mod difference;
pub mod environment;
pub mod evidence;
pub mod experiment;
pub mod explanation;
pub mod figures;
pub mod fleet;
pub mod history;
pub mod load;
pub mod median;
pub mod metric;
pub mod mountinfo;
mod omitted;
pub mod orion;
pub mod overview;
pub mod platform;
pub mod prediction;
pub mod recommendation;
pub mod run;
pub mod sample;
pub mod summary;
pub mod trial;
pub mod underway;
pub mod units;
pub mod verdict;
pub mod warm_up;
