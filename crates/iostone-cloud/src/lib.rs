//! The catalogue of cloud instances: what an hour of them costs and what their processors are allowed, with source and date
//! of each figure.
//!
//! What is not known is absent, never zero.

mod allowance;
mod answer;
mod catalogue;
mod ceiling;
pub mod explain;
mod prediction;
mod prices;
mod recommendation;
mod volume;

pub use allowance::{
    Agreement, CREDIT_SECONDS, Demand, LawState, Point, Simulation, UnknownAllowance, allowance, allowances,
    best_limit, governed_types, hold_against, problem_of_machine, runs_out_after, simulate, simulate_from,
    simulate_others,
};
pub use answer::{Beside, Expectation, answer, answer_configuration};
pub use catalogue::{
    Architecture, CATALOGUE_AS_OF, CATALOGUE_SCHEMA, Catalogue, Change, CpuCredits, Described, DiskKind,
    DisksError, Ebs, EbsSupport, EditError, ExchangeFormat, FieldChange, Found, Instance, InstanceRow,
    LocalDisks, Network, RangeError, RangeOf, Rows, RowsError, Said, Search, SortBy, Status, UnknownInstance,
    catalogue, edit_user_rows, install, read_described_types, read_exchange, read_rows, write_exchange,
};
pub use ceiling::{
    Accounting, Counted, Cpu, FilesystemKind, Io, Joined, Lane, LaneBurst, Load, LoadPart, MOST_LANES,
    Outcome, Parts, Path, Stretch, filesystem_room, inode_tables, path, simulate as simulate_work,
    simulate_with as simulate_work_with,
};
pub use prediction::{
    Amount, CacheUse, Order, Pattern, PredictError, Question, Route, RouteCpu, UnknownDemand, Work, predict,
    predict_configuration, work_of,
};
pub use prices::{AS_OF, DEFAULT_REGION, UnknownPrice, price, regions};
pub use recommendation::{Goal, RecommendError, Wanted, recommend};
pub use volume::{
    Delivered, HOURS_A_MONTH, IopsLaw, ManyIos, MonthlyPrice, OffNitro, PricePart, Quantity, QuantityBurst,
    Step, ThroughputBurst, ThroughputLaw, Tier, UnknownVolumePrice, VOLUME_PRICES_AS_OF, VolumeError,
    VolumeLimits, VolumeRow, VolumeRowError, VolumeTypes, volume_price, volume_price_regions,
};
