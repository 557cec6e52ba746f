use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use iostone_model::platform::Foundation;

use super::*;
use crate::fixture::plant;

/// A busy machine may take long to answer itself; where nothing comes, nothing is waited for all the same.
const PATIENT: Patience = Patience { each: Duration::from_secs(30), all: Duration::from_secs(30) };

fn find_patiently(root: &Root, metadata: &Metadata) -> Option<Platform> {
    find_within(root, metadata, PATIENT)
}

/// A request as a service sees it.
#[derive(Debug, Clone)]
struct Seen {
    line: String,
    headers: Vec<String>,
}

impl Seen {
    fn has(&self, header: &str) -> bool {
        self.headers.iter().any(|known| known.eq_ignore_ascii_case(header))
    }
}

/// A service at an address of this machine; it ends with the test's process.
fn serve(answer: impl Fn(&Seen, &mut TcpStream) + Send + 'static) -> Metadata {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let Some(line) = lines.next() else { continue };
            let headers = lines.take_while(|line| !line.is_empty()).collect();
            answer(&Seen { line, headers }, &mut stream);
        }
    });
    Metadata::AskedAt(address)
}

fn reply(stream: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    // Who asked may have hung up.
    let _ = write!(stream, "HTTP/1.1 {status} x\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
}

/// Amazon's: without the token that it gave, 401.
fn imitate_amazon(seen: &Seen, stream: &mut TcpStream) {
    if seen.line == "PUT /latest/api/token HTTP/1.1" {
        assert!(seen.has("X-aws-ec2-metadata-token-ttl-seconds: 60") && seen.has("Content-Length: 0"));
        return reply(stream, 200, "", "AQAEAtoken==");
    }
    if !seen.has("X-aws-ec2-metadata-token: AQAEAtoken==") {
        return reply(stream, 401, "", "");
    }
    let body = match seen.line.split(' ').nth(1).unwrap_or_default() {
        "/latest/meta-data/instance-type" => "c5.large",
        "/latest/meta-data/placement/region" => "ap-northeast-1",
        "/latest/meta-data/placement/availability-zone" => "ap-northeast-1a",
        "/latest/meta-data/ami-id" => "ami-0abc",
        // Of before 2019.
        "/latest/meta-data/instance-life-cycle" => return reply(stream, 404, "", "not found"),
        path => panic!("`{path}` is nobody's business"),
    };
    reply(stream, 200, "", body);
}

fn nitro() -> (tempfile::TempDir, Root) {
    plant(&[
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "c5.large\n"),
        ("sys/class/dmi/id/board_asset_tag", "i-0123456789\n"),
    ])
}

fn google() -> (tempfile::TempDir, Root) {
    plant(&[("sys/class/dmi/id/product_name", "Google Compute Engine\n")])
}

fn azure() -> (tempfile::TempDir, Root) {
    plant(&[
        ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n"),
        ("sys/class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n"),
    ])
}

#[test]
fn an_instance_of_amazon_is_completed_with_a_token() {
    let (_folder, root) = nitro();
    let platform = find_patiently(&root, &serve(imitate_amazon)).unwrap();
    assert_eq!(platform.in_words(), "Amazon EC2 c5.large (Nitro), ap-northeast-1a, ami-0abc");
    assert_eq!(platform.lifecycle, None);
    assert!(platform.evidence.contains(&"the metadata service answered".to_owned()), "{platform:?}");
    assert!(!format!("{platform:?}").contains("i-0123456789"));
}

#[test]
fn without_asking_the_firmware_says_what_it_knows() {
    let (_folder, root) = nitro();
    let platform = find_patiently(&root, &Metadata::NotAsked).unwrap();
    assert_eq!(platform.in_words(), "Amazon EC2 c5.large (Nitro)");
    assert_eq!(platform.evidence.last().unwrap(), "the metadata service was not asked");
}

#[test]
fn instances_on_xen_are_known_by_identifier_or_firmware() {
    let vendor = ("sys/class/dmi/id/sys_vendor", "Xen\n");
    for marks in [
        vec![("sys/hypervisor/uuid", "ec2e1916-9099-7caf-fd21-012345abcdef\n")],
        vec![vendor, ("sys/class/dmi/id/bios_version", "4.11.amazon\n")],
        vec![vendor, ("sys/class/dmi/id/product_uuid", "EC2E1916-9099-7CAF-FD21-012345ABCDEF\n")],
        vec![vendor, ("sys/class/dmi/id/product_uuid", "45E12AEC-DCD1-B213-94ED-012345ABCDEF\n")],
    ] {
        let (_folder, root) = plant(&marks);
        let platform = find_patiently(&root, &Metadata::NotAsked).unwrap();
        assert_eq!(
            (platform.provider, platform.foundation),
            (Provider::Aws, Some(Foundation::Xen)),
            "{marks:?}"
        );
        assert!(!format!("{platform:?}").to_lowercase().contains("012345abcdef"));
    }
}

#[test]
fn other_machines_are_none_and_nobody_is_asked() {
    let tell_nobody = || serve(|seen, _| panic!("asked for {}", seen.line));
    for marks in [
        vec![],
        vec![("sys/class/dmi/id/sys_vendor", "QEMU\n"), ("sys/class/dmi/id/product_name", "Standard PC\n")],
        vec![("sys/class/dmi/id/sys_vendor", "Xen\n"), ("sys/class/dmi/id/bios_version", "4.17\n")],
        vec![("sys/hypervisor/uuid", "00000000-0000\n")],
        vec![("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n")],
    ] {
        let (_folder, root) = plant(&marks);
        assert_eq!(find_patiently(&root, &tell_nobody()), None, "{marks:?}");
    }
}

#[test]
fn google_answers_with_its_flavor_and_only_last_parts_are_kept() {
    let (_folder, root) = google();
    let metadata = serve(|seen, stream| {
        assert!(seen.has("Metadata-Flavor: Google"));
        let body = match seen.line.split(' ').nth(1).unwrap_or_default() {
            "/computeMetadata/v1/instance/machine-type" => "projects/42/machineTypes/n2-standard-4",
            "/computeMetadata/v1/instance/zone" => "projects/42/zones/asia-northeast1-a",
            "/computeMetadata/v1/instance/image" => {
                "projects/secret/global/images/debian-12-bookworm-v20250101"
            }
            _ => "TRUE",
        };
        reply(stream, 200, "Metadata-Flavor: Google\r\n", body);
    });
    let platform = find_patiently(&root, &metadata).unwrap();
    assert_eq!(
        platform.in_words(),
        "Google Compute Engine n2-standard-4, asia-northeast1-a, spot, debian-12-bookworm-v20250101"
    );
    assert_eq!(platform.region.as_deref(), Some("asia-northeast1"));
    let text = format!("{platform:?}");
    assert!(!text.contains("secret") && !text.contains("42"), "{text}");
}

#[test]
fn an_answer_without_googles_flavor_is_somebody_elses() {
    let (_folder, root) = google();
    let platform = find_patiently(&root, &serve(|_, stream| reply(stream, 200, "", "n2"))).unwrap();
    assert_eq!(platform.instance_type, None);
    assert!(platform.evidence.last().unwrap().contains("not this provider's service"), "{platform:?}");
}

#[test]
fn azure_is_read_from_json_and_what_is_private_is_not_kept() {
    let (_folder, root) = azure();
    let metadata = serve(|seen, stream| {
        assert!(seen.has("Metadata: true"));
        assert!(seen.line.contains("/compute?api-version=2020-12-01"), "before user data: {}", seen.line);
        let body = r#"{"vmSize":"Standard_D4s_v5","location":"japaneast","zone":"1","publisher":"Debian","offer":"debian-12",
            "sku":"12","version":"0.1","priority":"Regular","subscriptionId":"private","tags":"private","vmId":"private"}"#;
        reply(stream, 200, "", body);
    });
    let platform = find_patiently(&root, &metadata).unwrap();
    assert_eq!(
        platform.in_words(),
        "Microsoft Azure Standard_D4s_v5, japaneast zone 1, on-demand, Debian:debian-12:12:0.1"
    );
    assert!(!format!("{platform:?}").contains("private"));
}

/// The evidence of a machine of Amazon's whose service behaves like that; it is an instance all the same.
fn evidence_of(answer: impl Fn(&Seen, &mut TcpStream) + Send + 'static) -> String {
    evidence_within(PATIENT, answer)
}

fn evidence_within(patience: Patience, answer: impl Fn(&Seen, &mut TcpStream) + Send + 'static) -> String {
    let (_folder, root) = nitro();
    let platform = find_within(&root, &serve(answer), patience).unwrap();
    assert_eq!(platform.instance_type.as_deref(), Some("c5.large"), "the firmware's word stays");
    platform.evidence.last().unwrap().clone()
}

#[test]
fn a_service_that_forbids_or_sends_elsewhere_is_not_followed() {
    let forbidden = evidence_of(|_, stream| reply(stream, 403, "", ""));
    assert_eq!(forbidden, "the metadata service: it answered `/latest/api/token` with status 403");
    let elsewhere = evidence_of(|seen, stream| {
        assert!(seen.line.starts_with("PUT"), "{} was followed", seen.line);
        reply(stream, 302, "Location: http://169.254.169.254/elsewhere\r\n", "");
    });
    assert!(elsewhere.ends_with("with status 302"), "{elsewhere}");
}

#[test]
fn garbage_and_endless_answers_are_given_up() {
    assert!(evidence_of(|_, stream| drop(write!(stream, "what?\r\n\r\n"))).ends_with("is not HTTP"));
    let endless = evidence_of(|_, stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 1024]).is_ok() {}
    });
    assert!(endless.ends_with("longer than 64 KiB"), "{endless}");
}

#[test]
fn a_token_that_would_end_its_line_is_not_sent_back() {
    let evidence = evidence_of(|seen, stream| {
        assert!(seen.line.starts_with("PUT"), "{} was asked with it", seen.line);
        reply(stream, 200, "", "token\r\nX-Forwarded-For: 10.0.0.1");
    });
    assert!(evidence.contains("is not in plain letters"), "{evidence}");
}

#[test]
fn answers_in_other_letters_are_passed_over_and_the_next_question_is_asked() {
    let (_folder, root) = nitro();
    let metadata = serve(|seen, stream| {
        let body = match seen.line.as_str() {
            line if line.starts_with("PUT") => "t",
            line if line.contains("/placement/region") => "eu-west-1",
            _ => "<script>\u{1b}[2J",
        };
        reply(stream, 200, "", body);
    });
    let platform = find_patiently(&root, &metadata).unwrap();
    assert_eq!(platform.region.as_deref(), Some("eu-west-1"), "{platform:?}");
    assert_eq!((&platform.zone, &platform.image), (&None, &None), "{platform:?}");
    assert_eq!(platform.evidence.last().unwrap(), "the metadata service answered");
}

#[test]
fn a_silent_or_dripping_service_is_left_after_its_time() {
    let started = Instant::now();
    let silent = evidence_within(Patience::USUAL, |_, _| thread::sleep(Duration::from_secs(5)));
    assert!(silent.ends_with("did not answer in time"), "{silent}");
    let dripping = evidence_within(Patience::USUAL, |_, stream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nX: ");
        while stream.write_all(b"y").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert!(dripping.ends_with("did not answer in time"), "{dripping}");
    // Far above the second and the third of one that they have: only that they end is tested.
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn where_nobody_listens_the_firmware_has_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (_folder, root) = nitro();
    let platform = find_patiently(&root, &Metadata::AskedAt(address)).unwrap();
    assert!(platform.evidence.last().unwrap().contains("nobody answers at 127.0.0.1"), "{platform:?}");
}
