//! The marks that a cloud leaves on its machines without being asked: DMI strings, and Xen's identifier.
//!
//! Where they are: systemd's `src/basic/virt.c`, cloud-init's `tools/ds-identify`, and "Identify EC2 Linux instances" of
//! Amazon's guide. Whether this is a container does not matter: it sees the same marks.

use iostone_model::platform::{Foundation, Platform, Provider};

use super::plain;
use crate::root::Root;

/// The asset tag of every machine of Azure's (cloud-init, `DataSourceAzure`).
const AZURE_ASSET_TAG: &str = "7783-7084-3265-9085-8269-3286-77";

/// What the marks tell; none where there is none of them.
pub(super) fn read_marks(root: &Root) -> Option<Platform> {
    let dmi = |field: &str| root.word(format!("/sys/class/dmi/id/{field}")).unwrap_or_default();
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    if vendor.eq_ignore_ascii_case("Amazon EC2") {
        return Some(on_nitro(&product));
    }
    if let Some(evidence) = xen_mark(root, &vendor, &dmi("bios_version")) {
        return Some(Platform {
            foundation: Some(Foundation::Xen),
            evidence: vec![evidence],
            ..Platform::of(Provider::Aws)
        });
    }
    // The name is preceded by the maker's on some.
    if product.ends_with("Google Compute Engine") {
        let evidence = vec!["DMI product_name is `Google Compute Engine`".to_owned()];
        return Some(Platform { evidence, ..Platform::of(Provider::Gcp) });
    }
    if dmi("chassis_asset_tag") == AZURE_ASSET_TAG {
        let evidence = vec!["DMI chassis_asset_tag is Azure's".to_owned()];
        return Some(Platform { evidence, ..Platform::of(Provider::Azure) });
    }
    None
}

/// On Nitro, bare metal included, the product is the instance type.
fn on_nitro(product: &str) -> Platform {
    let mut evidence = vec!["DMI sys_vendor is `Amazon EC2`".to_owned()];
    let instance_type = plain(product).filter(|name| name.contains('.') && !name.contains(' '));
    evidence.extend(instance_type.as_ref().map(|name| format!("DMI product_name is `{name}`")));
    Platform { foundation: Some(Foundation::Nitro), instance_type, evidence, ..Platform::of(Provider::Aws) }
}

fn xen_mark(root: &Root, vendor: &str, bios_version: &str) -> Option<String> {
    let begins = |text: &str| text.get(..3).is_some_and(|first| first.eq_ignore_ascii_case("ec2"));
    if root.word("/sys/hypervisor/uuid").is_some_and(|uuid| begins(&uuid)) {
        return Some("/sys/hypervisor/uuid begins with ec2".to_owned());
    }
    if !vendor.eq_ignore_ascii_case("Xen") {
        return None;
    }
    if bios_version.contains("amazon") {
        return Some("DMI sys_vendor is `Xen`, and bios_version Amazon's".to_owned());
    }
    // Readable for root only, and on some with the first group's bytes turned round.
    let uuid = root.word("/sys/class/dmi/id/product_uuid")?;
    let turned: String = [6, 4].iter().filter_map(|&at| uuid.get(at..at + 2)).collect();
    (begins(&uuid) || begins(&turned))
        .then(|| "DMI sys_vendor is `Xen`, and product_uuid begins with ec2".to_owned())
}
