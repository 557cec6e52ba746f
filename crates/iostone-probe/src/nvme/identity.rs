//! What a controller says that it is: the answer to Identify, and where Amazon puts the name of the attachment.

use super::PAGE_BYTES;

/// Amazon's PCI vendor.
const AMAZON: u16 = 0x1D0F;
/// How EBS volumes call themselves.
pub(super) const EBS_MODEL: &str = "Amazon Elastic Block Store";
/// How the instance's own disks call themselves.
pub(super) const INSTANCE_STORE_MODEL: &str = "Amazon EC2 NVMe Instance Storage";

/// A controller, as it tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// PCI vendor, bytes 0 and 1.
    pub vendor: u16,
    /// Serial number, bytes 4 to 23; of an EBS volume its id without the dash, `vol0123...`.
    pub serial: String,
    /// Model, bytes 24 to 63.
    pub model: String,
    /// The name under which an EBS volume was attached, `/dev/sdf` or `sda1`, bytes 3072 to 3103 (vendor specific).
    pub attached_as: Option<String>,
}

impl Identity {
    /// Whether it is a device of Amazon's that has log page 0xD0.
    pub fn keeps_statistics(&self) -> bool {
        self.vendor == AMAZON && keeps_statistics(&self.model)
    }
}

/// Whether devices of that model have log page 0xD0.
pub(super) fn keeps_statistics(model: &str) -> bool {
    [EBS_MODEL, INSTANCE_STORE_MODEL].contains(&model.trim())
}

/// Reads the 4096 bytes of Identify Controller; none where they are fewer.
pub fn parse_identity(bytes: &[u8]) -> Option<Identity> {
    if bytes.len() < PAGE_BYTES {
        return None;
    }
    let vendor = u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]);
    let model = text(bytes.get(24..64)?);
    let attached_as = Some(text(bytes.get(3072..3104)?)).filter(|name| vendor == AMAZON && !name.is_empty());
    Some(Identity { vendor, serial: text(bytes.get(4..24)?), model, attached_as })
}

/// ASCII, filled up with spaces; what is not printable is left out.
fn text(bytes: &[u8]) -> String {
    let kept: String =
        bytes.iter().map(|&byte| char::from(byte)).filter(|&c| c == ' ' || c.is_ascii_graphic()).collect();
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(vendor: u16, model: &str) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[..2].copy_from_slice(&vendor.to_le_bytes());
        bytes[4..24].copy_from_slice(b"vol0123456789abcdef0");
        bytes[24..64].fill(b' ');
        bytes[24..24 + model.len()].copy_from_slice(model.as_bytes());
        bytes[3072..3104].fill(b' ');
        bytes[3072..3080].copy_from_slice(b"/dev/sdf");
        bytes
    }

    #[test]
    fn a_volume_tells_its_id_and_where_it_was_attached() {
        let identity = parse_identity(&answer(0x1D0F, EBS_MODEL)).unwrap();
        assert_eq!(identity.serial, "vol0123456789abcdef0");
        assert_eq!(identity.model, EBS_MODEL);
        assert_eq!(identity.attached_as.as_deref(), Some("/dev/sdf"));
        assert!(identity.keeps_statistics());
    }

    #[test]
    fn another_maker_is_not_believed_whatever_the_model_says() {
        let identity = parse_identity(&answer(0x1B36, EBS_MODEL)).unwrap();
        assert!(!identity.keeps_statistics());
        assert_eq!(identity.attached_as, None);
        assert!(!parse_identity(&answer(0x1D0F, "something else")).unwrap().keeps_statistics());
    }

    #[test]
    fn control_characters_and_short_answers_do_no_harm() {
        let mut bytes = answer(0x1D0F, EBS_MODEL);
        bytes[26] = 0x1B;
        assert_eq!(parse_identity(&bytes).unwrap().model, "Amzon Elastic Block Store");
        assert_eq!(parse_identity(&bytes[..4095]), None);
    }
}
