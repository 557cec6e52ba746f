//! The output of `aws ec2 describe-instance-types` (EC2 API Reference, `DescribeInstanceTypes`), read into rows.

use iostone_model::units::{ByteRate, Bytes};
use serde::Deserialize;

use super::disks::{DiskKind, LocalDisks};
use super::exchange::RowsError;
use super::row::{InstanceRow, is_type};
use super::rows::Rows;
use super::words::{Architecture, EbsSupport, Status};

/// What such an output says.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// The instance types.
    pub rows: Rows,
    /// What could not be taken, in sentences.
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    instance_types: Vec<Type>,
    next_token: Option<String>,
}

/// What is used of `InstanceTypeInfo`. Everything but the name may be absent.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Type {
    #[serde(rename = "InstanceType")]
    name: String,
    current_generation: Option<bool>,
    bare_metal: Option<bool>,
    hypervisor: Option<String>,
    #[serde(rename = "VCpuInfo")]
    vcpu_info: Option<VcpuInfo>,
    memory_info: Option<MemoryInfo>,
    processor_info: Option<ProcessorInfo>,
    ebs_info: Option<EbsInfo>,
    network_info: Option<NetworkInfo>,
    instance_storage_supported: Option<bool>,
    instance_storage_info: Option<StorageInfo>,
}

#[derive(Deserialize)]
struct VcpuInfo {
    #[serde(rename = "DefaultVCpus")]
    default_vcpus: Option<u32>,
}

#[derive(Deserialize)]
struct MemoryInfo {
    #[serde(rename = "SizeInMiB")]
    mib: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProcessorInfo {
    supported_architectures: Option<Vec<String>>,
    sustained_clock_speed_in_ghz: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EbsInfo {
    ebs_optimized_support: Option<String>,
    ebs_optimized_info: Option<EbsOptimizedInfo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct EbsOptimizedInfo {
    baseline_bandwidth_in_mbps: Option<u64>,
    baseline_iops: Option<u32>,
    maximum_bandwidth_in_mbps: Option<u64>,
    maximum_iops: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NetworkInfo {
    network_cards: Option<Vec<NetworkCard>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NetworkCard {
    baseline_bandwidth_in_gbps: Option<f64>,
    peak_bandwidth_in_gbps: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StorageInfo {
    disks: Option<Vec<Disk>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Disk {
    #[serde(rename = "SizeInGB")]
    size_in_gb: Option<u64>,
    count: Option<u32>,
    r#type: Option<String>,
}

/// Reads such an output: the whole document, or the list within it.
///
/// # Errors
/// [`RowsError::Json`] at its line and column.
pub fn read_described_types(text: &str) -> Result<Described, RowsError> {
    let output = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map(|instance_types| Output { instance_types, next_token: None })
    } else {
        serde_json::from_str(text)
    };
    let output = output.map_err(|error| RowsError::of_json(&error))?;
    let mut described = Described { rows: Rows::default(), notes: Vec::new() };
    if output.next_token.is_some_and(|token| !token.is_empty()) {
        described.notes.push(
            "the output has a `NextToken`: it is one page of several; without `--no-paginate` it holds all"
                .to_owned(),
        );
    }
    for one in output.instance_types {
        if !is_type(&one.name) {
            let note = format!("`{}` is not the name of an instance type and was left out", one.name);
            described.notes.push(note);
            continue;
        }
        let name = one.name.clone();
        let row = row(one, &mut described.notes);
        described.rows.instance.insert(name, row);
    }
    Ok(described)
}

fn row(one: Type, notes: &mut Vec<String>) -> InstanceRow {
    let name = one.name.clone();
    let ebs = one.ebs_info.as_ref().and_then(|info| info.ebs_optimized_info.as_ref());
    // A figure of 0 is one that is not known.
    let mbps = |value: Option<u64>| Some(ByteRate(value.filter(|mbps| *mbps > 0)?.checked_mul(125_000)?));
    let ebs_baseline = ebs.and_then(|ebs| mbps(ebs.baseline_bandwidth_in_mbps));
    let of_link = |iops: Option<u32>| iops.filter(|iops| *iops > 0 && ebs_baseline.is_some());
    let ebs_maximum = ebs
        .and_then(|ebs| mbps(ebs.maximum_bandwidth_in_mbps))
        .filter(|most| ebs_baseline.is_some_and(|baseline| baseline <= *most));
    let baseline_iops = of_link(ebs.and_then(|ebs| ebs.baseline_iops));
    let maximum_iops = of_link(ebs.and_then(|ebs| ebs.maximum_iops))
        .filter(|most| baseline_iops.is_none_or(|least| least <= *most));
    let cards = one.network_info.and_then(|info| info.network_cards).unwrap_or_default();
    let network_baseline = sum_gbps(cards.iter().map(|card| card.baseline_bandwidth_in_gbps));
    let network_peak = sum_gbps(cards.iter().map(|card| card.peak_bandwidth_in_gbps))
        .filter(|peak| network_baseline.is_some_and(|baseline| baseline <= *peak));
    let processor = one.processor_info;
    let words = processor.as_ref().and_then(|info| info.supported_architectures.clone()).unwrap_or_default();
    let mut architectures: Vec<Architecture> = Vec::new();
    for architecture in words.iter().filter_map(|word| Architecture::of_word(word)) {
        if !architectures.contains(&architecture) {
            architectures.push(architecture);
        }
    }
    let local_disks = match (one.instance_storage_supported, one.instance_storage_info) {
        (_, Some(info)) => disks(&name, &info.disks.unwrap_or_default(), notes),
        (Some(false), None) => Some(LocalDisks::of(0, Bytes(0), DiskKind::Ssd)),
        (_, None) => None,
    };
    InstanceRow {
        status: one
            .current_generation
            .map(|current| if current { Status::Current } else { Status::Previous }),
        vcpus: one.vcpu_info.and_then(|info| info.default_vcpus).filter(|vcpus| *vcpus > 0),
        memory: one
            .memory_info
            .and_then(|info| info.mib)
            .and_then(|mib| mib.checked_mul(1 << 20))
            .filter(|bytes| *bytes > 0)
            .map(Bytes),
        architectures: Some(architectures).filter(|known| !known.is_empty()),
        hypervisor: match one.bare_metal {
            Some(true) => Some("metal".to_owned()),
            _ => one.hypervisor.filter(|hypervisor| !hypervisor.trim().is_empty()),
        },
        clock_ghz: processor
            .and_then(|info| info.sustained_clock_speed_in_ghz)
            .filter(|clock| clock.is_finite() && *clock > 0.0),
        ebs_support: one.ebs_info.and_then(|info| match info.ebs_optimized_support?.as_str() {
            "default" => Some(EbsSupport::Default),
            "supported" => Some(EbsSupport::OnRequest),
            "unsupported" => Some(EbsSupport::None),
            _ => None,
        }),
        ebs_baseline,
        ebs_baseline_iops: baseline_iops,
        ebs_maximum,
        ebs_maximum_iops: maximum_iops,
        network_baseline,
        network_peak,
        local_disks,
        ..InstanceRow::default()
    }
}

/// All network cards together; none if one of them is not known.
fn sum_gbps(cards: impl Iterator<Item = Option<f64>>) -> Option<ByteRate> {
    let sum = cards.sum::<Option<f64>>()?;
    let bytes = (sum * 1e9 / 8.0).round();
    // 2^53: above, a number in JSON is no longer exact.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded and positive")]
    (1.0..9_007_199_254_740_992.0).contains(&bytes).then_some(ByteRate(bytes as u64))
}

fn disks(name: &str, disks: &[Disk], notes: &mut Vec<String>) -> Option<LocalDisks> {
    let (first, rest) = disks.split_first()?;
    let is_alike = |other: &&Disk| other.size_in_gb == first.size_in_gb && other.r#type == first.r#type;
    if !rest.iter().all(|other| is_alike(&other)) {
        notes.push(format!(
            "`{name}` has disks of several kinds, which the catalogue cannot hold; they are left out"
        ));
        return None;
    }
    let count = disks.iter().map(|disk| disk.count).try_fold(0u32, |sum, count| sum.checked_add(count?))?;
    let each = first.size_in_gb?.checked_mul(1_000_000_000).filter(|each| *each > 0)?;
    each.checked_mul(count.into())?;
    let kind = match first.r#type.as_deref()? {
        "ssd" => DiskKind::Ssd,
        "hdd" => DiskKind::Hdd,
        _ => return None,
    };
    (count > 0).then(|| LocalDisks::of(count, Bytes(each), kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    /// As the EC2 API answers, shortened.
    pub(crate) const OUTPUT: &str = r#"{"InstanceTypes": [
        {"InstanceType": "c4.large", "CurrentGeneration": false, "BareMetal": false, "Hypervisor": "xen",
         "ProcessorInfo": {"SupportedArchitectures": ["x86_64"], "SustainedClockSpeedInGhz": 2.9},
         "VCpuInfo": {"DefaultVCpus": 2, "DefaultCores": 1, "DefaultThreadsPerCore": 2},
         "MemoryInfo": {"SizeInMiB": 3840}, "InstanceStorageSupported": false,
         "EbsInfo": {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": {"BaselineBandwidthInMbps": 500,
            "BaselineThroughputInMBps": 62.5, "BaselineIops": 4000, "MaximumBandwidthInMbps": 500,
            "MaximumThroughputInMBps": 62.5, "MaximumIops": 4000}},
         "NetworkInfo": {"NetworkPerformance": "Moderate", "NetworkCards": [
            {"NetworkCardIndex": 0, "BaselineBandwidthInGbps": 0.625, "PeakBandwidthInGbps": 1.2}]}},
        {"InstanceType": "p4d.24xlarge", "InstanceStorageSupported": true,
         "InstanceStorageInfo": {"TotalSizeInGB": 8000, "Disks": [{"SizeInGB": 1000, "Count": 8, "Type": "ssd"}]},
         "NetworkInfo": {"NetworkCards": [{"BaselineBandwidthInGbps": 100.0, "PeakBandwidthInGbps": 100.0},
            {"BaselineBandwidthInGbps": 100.0, "PeakBandwidthInGbps": 100.0}]}},
        {"InstanceType": "z9.large", "MemoryInfo": {"SizeInMiB": 0}}
    ]}"#;

    #[test]
    fn what_the_api_says_of_a_known_type_changes_nothing() {
        let described = read_described_types(OUTPUT).unwrap();
        assert_eq!(described.notes, Vec::<String>::new());
        let catalogue = Catalogue::built_in();
        let changes = catalogue.changes(&described.rows);
        assert!(changes.iter().all(|change| change.name != "c4.large"), "{changes:?}");
        let large = &described.rows.instance["p4d.24xlarge"];
        assert_eq!(large.network_baseline, Some(ByteRate(25_000_000_000)));
        assert_eq!(large.local_disks.as_ref().unwrap().words, "8x1000GB-ssd");
        assert_eq!(
            described.rows.instance["z9.large"],
            InstanceRow::default(),
            "unknown is absent, never zero"
        );
    }

    #[test]
    fn a_page_of_several_is_told_and_what_is_not_json_is_refused_at_its_place() {
        let page = read_described_types(r#"{"InstanceTypes": [], "NextToken": "x"}"#).unwrap();
        assert!(page.notes[0].contains("NextToken"), "{:?}", page.notes);
        let error = read_described_types("{\n \"InstanceTypes\": [{\"InstanceType\": 4}]}").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        assert_eq!(read_described_types("[]").unwrap().rows.len(), 0);
    }
}
