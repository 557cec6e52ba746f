//! The catalogue: instances and volume types with their limits, built in, with rows of the user's laid over them.

mod change;
mod described;
mod disks;
mod edit;
mod exchange;
mod instance;
mod range;
mod row;
mod rows;
mod search;
mod words;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use iostone_model::diagnostic::{Diagnostic, nearest};
use iostone_model::experiment::Price;

use crate::prices::{Prices, UnknownPrice};
use crate::volume::{VolumeRow, VolumeTypes};

pub use change::{Change, FieldChange};
pub use described::{Described, read_described_types};
pub use disks::{DiskKind, DisksError, LocalDisks};
pub use edit::{EditError, edit_user_rows};
pub use exchange::{CATALOGUE_SCHEMA, ExchangeFormat, RowsError, read_exchange, write_exchange};
pub use instance::{CATALOGUE_AS_OF, CpuCredits, Ebs, Instance, Network, Said};
pub(crate) use instance::{NETWORK_BURST_SECONDS, NETWORK_BURST_TAKEN};
pub use range::{RangeError, RangeOf};
pub use row::InstanceRow;
pub use rows::{Rows, read_rows};
pub use search::{Found, Search, SortBy};
pub use words::{Architecture, EbsSupport, Status};

/// Instances and volume types, and prices of instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    instances: BTreeMap<String, Instance>,
    volumes: VolumeTypes,
    prices: Prices,
    user_file: Option<String>,
    /// Rows of volume types as the user wrote them.
    said_volumes: Vec<VolumeRow>,
}

/// No such instance type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the catalogue knows no instance type `{instance}`{} `iostone catalog search` lists what it knows",
    nearest.as_ref().map_or_else(|| ";".to_owned(), |name| format!(", did you mean `{name}`?"))
)]
pub struct UnknownInstance {
    /// The type asked for.
    pub instance: String,
    /// The one that is spelled most like it.
    pub nearest: Option<String>,
}

static IN_FORCE: OnceLock<Catalogue> = OnceLock::new();

/// The catalogue in force: what [`install`] put there, else what is built in.
pub fn catalogue() -> &'static Catalogue {
    IN_FORCE.get_or_init(Catalogue::built_in)
}

/// Puts a catalogue in force for this process, before anything asked for one. False if something did already.
pub fn install(catalogue: Catalogue) -> bool {
    IN_FORCE.set(catalogue).is_ok()
}

impl Catalogue {
    /// What is built in.
    pub fn built_in() -> Self {
        Self {
            instances: instance::table(),
            volumes: VolumeTypes::built_in(),
            prices: Prices::built_in(),
            user_file: None,
            said_volumes: Vec::new(),
        }
    }

    /// What is built in, with the rows of a user's file, in TOML, laid over it; `file` is how answers name it.
    ///
    /// # Errors
    /// Everything wrong with the file, in its order; never empty.
    pub fn with_user_rows(text: &str, file: &str) -> Result<Self, Vec<Diagnostic>> {
        let mut catalogue = Self::built_in();
        rows::read_over(&mut catalogue, text, file)?;
        Ok(catalogue)
    }

    /// The file whose rows were laid over what is built in.
    pub fn user_file(&self) -> Option<&str> {
        self.user_file.as_deref()
    }

    /// An instance type by its name; `C4.LARGE` is `c4.large` where no row is called so itself.
    ///
    /// # Errors
    /// [`UnknownInstance`], with the name that is most like it.
    pub fn instance(&self, name: &str) -> Result<&Instance, UnknownInstance> {
        let found = self.instances.get(name).or_else(|| self.instances.get(&name.to_ascii_lowercase()));
        found.ok_or_else(|| UnknownInstance {
            instance: name.to_owned(),
            nearest: nearest(name, self.instances.keys().map(String::as_str)).map(str::to_owned),
        })
    }

    /// The volume types.
    pub fn volumes(&self) -> &VolumeTypes {
        &self.volumes
    }

    /// What an hour of an instance costs on demand in a region, in US dollars.
    ///
    /// # Errors
    /// [`UnknownPrice`]: the region or the type is not in the catalogue, or the type has no price there.
    pub fn price(&self, instance: &str, region: &str) -> Result<Price, UnknownPrice> {
        self.prices.price(instance, region)
    }

    /// The same; none where the price is unknown, without a search for similar names.
    pub fn known_price(&self, instance: &str, region: &str) -> Option<Price> {
        self.prices.known(instance, region)
    }

    /// The price alone, $/h, as lists and searches compare it.
    pub fn usd_per_hour(&self, instance: &str, region: &str) -> Option<f64> {
        self.prices.usd_per_hour(instance, region)
    }

    /// What an hour of an instance costs on demand, by region, as far as that is known.
    pub fn prices(&self, instance: &str) -> BTreeMap<String, f64> {
        self.prices.of(instance)
    }

    /// The regions that prices are known of.
    pub fn regions(&self) -> &[String] {
        self.prices.regions()
    }

    /// Everything that is known of an instance, as a row.
    pub fn row(&self, instance: &Instance) -> InstanceRow {
        InstanceRow::of(instance, self.prices.of(&instance.name))
    }

    /// Every instance type, by name.
    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.instances.values()
    }
}
