//! Which laws of a volume type may have held: a year or a month can span a change, and a day can lie within one.

use iostone_model::cloud::{CatalogueDate, VolumeSpec};

use super::{VolumeTypes, name_of};

impl VolumeTypes {
    /// A date for each law that may have held at a date, which comes first itself: where that is a year or a month, those of laws that
    /// came within it; where it lies between the earliest and the latest day on which limits may have changed, that of the next.
    pub fn laws_at(&self, spec: &VolumeSpec, date: CatalogueDate) -> Vec<CatalogueDate> {
        let rows = self.history(&name_of(spec)).unwrap_or_default();
        let further = rows.iter().filter_map(|row| {
            let (began, certain) = (row.since?, row.certain_since()?);
            (began.day() <= date.last_day() && certain.day() > date.day())
                .then(|| CatalogueDate::of_day(certain.day()))
        });
        std::iter::once(date).chain(further).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_has_the_laws_that_came_within_it_and_a_day_of_doubt_both() {
        let days = |spec: &str, date: &str| -> Vec<String> {
            let laws = VolumeTypes::built_in().laws_at(&spec.parse().unwrap(), date.parse().unwrap());
            laws.iter().map(ToString::to_string).collect()
        };
        assert_eq!(days("io1:300GiB:1000iops", "2015"), ["2015", "2015-04-02"]);
        assert_eq!(days("io1:300GiB:1000iops", "2015-03-20"), ["2015-03-20", "2015-04-02"]);
        assert_eq!(days("io1:300GiB:1000iops", "2015-04-02"), ["2015-04-02"]);
        assert_eq!(days("gp2:220GiB", "2017-07-10"), ["2017-07-10"]);
        assert_eq!(days("gp9:1GiB", "2017"), ["2017"]);
    }
}
