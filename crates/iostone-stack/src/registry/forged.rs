//! Forged and mutated journals against a playground: whatever they say, nothing of it may change.

mod aims;
mod playground;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{JournalOutcome, Registry};
use crate::own_uuid::new_uuid;
use crate::owner::Owner;
use crate::seal::{Key, sealed};
use playground::{Playground, TOKEN};

const NAME: &str = "play-0123456789abcdef.jsonl";
/// So many journals are made by chance from a good one.
const MUTANTS: u64 = 260;

/// Numbers by chance, the same in each run (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
    }

    fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The first line of a journal whose owner is dead.
fn owner(run_directory: &Path) -> Value {
    let owner = Owner { start_time: 1, ..Owner::current(run_directory, TOKEN).unwrap() };
    let mut line = serde_json::to_value(owner).unwrap();
    line["event"] = "owner".into();
    line
}

fn step(number: usize, step: &Value) -> Value {
    json!({"event": "do", "number": number, "scope": "session", "step": step})
}

fn lines_of(values: &[Value]) -> Vec<String> {
    values.iter().map(Value::to_string).collect()
}

/// A registry with nothing in it but one journal.
struct Trial {
    place: tempfile::TempDir,
    registry: Registry,
}

impl Trial {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let registry = Registry::at(&place.path().join("state")).unwrap();
        Self { place, registry }
    }

    /// What becomes of a journal of these bytes; the playground has to be as it was.
    #[track_caller]
    fn replay(&self, playground: &Playground, bytes: &[u8], about: &str) -> JournalOutcome {
        let path = self.registry.directory().join(NAME);
        let _ = fs::remove_file(&path);
        fs::write(&path, bytes).unwrap();
        let report = self.registry.cleanup().unwrap();
        let now = playground.look();
        assert_eq!(now, playground.before, "{about}\n{}", String::from_utf8_lossy(bytes));
        let [(_, outcome)] = &report.journals[..] else { panic!("{report:?}") };
        if matches!(outcome, JournalOutcome::Unreadable { .. }) {
            assert_eq!(fs::read(&path).unwrap(), bytes, "{about}: it was not left alone");
        }
        outcome.clone()
    }

    #[track_caller]
    fn is_unreadable(&self, playground: &Playground, bytes: &[u8], about: &str) {
        let outcome = self.replay(playground, bytes, about);
        let JournalOutcome::Unreadable { reason } = &outcome else { panic!("{about}: {outcome:?}") };
        assert!(reason.contains("none of it was undone; next: "), "{reason}");
    }
}

#[test]
fn a_good_journal_is_replayed() {
    let playground = Playground::new();
    let trial = Trial::new();
    let own = trial.place.path().join(format!("iostone-{TOKEN}"));
    fs::create_dir_all(own.join("a")).unwrap();
    let lines = lines_of(&[
        owner(&trial.place.path().join("run")),
        step(0, &json!({"kind": "directory", "path": own, "content_is_ours": true})),
    ]);
    let outcome = trial.replay(&playground, &sealed(&trial.registry.key, NAME, &lines), "a good one");
    assert!(matches!(outcome, JournalOutcome::Undone { .. }) && !own.exists(), "{outcome:?}");
}

#[test]
fn forged_steps_change_nothing_sealed_or_not() {
    let playground = Playground::new();
    let trial = Trial::new();
    let (forged, admissible) = playground.steps();
    assert!(forged.len() + admissible.len() >= 60, "{}", forged.len());
    let other = Key::of(tempfile::tempdir().unwrap().path()).unwrap();
    let mut count = 0;
    for (number, (one, is_forged)) in
        forged.iter().map(|one| (one, true)).chain(admissible.iter().map(|one| (one, false))).enumerate()
    {
        let lines = lines_of(&[owner(&playground.path("empty")), step(0, one)]);
        let about = format!("step {number}: {one}");
        trial.is_unreadable(&playground, format!("{}\n", lines.join("\n")).as_bytes(), &about);
        trial.is_unreadable(&playground, &sealed(&other, NAME, &lines), &about);
        trial.is_unreadable(&playground, &sealed(&trial.registry.key, "another.jsonl", &lines), &about);
        let bytes = sealed(&trial.registry.key, NAME, &lines);
        if is_forged {
            trial.is_unreadable(&playground, &bytes, &about);
        } else {
            let outcome = trial.replay(&playground, &bytes, &about);
            assert!(!matches!(outcome, JournalOutcome::Unreadable { .. }), "{about}: {outcome:?}");
        }
        count += 4;
    }
    assert!(count >= 240, "{count}");
}

#[test]
fn moves_take_nothing_of_others_along() {
    let playground = Playground::new();
    let trial = Trial::new();
    let own = |parent: &str| format!("{parent}/iostone-{TOKEN}");
    let directory = |path: String| json!({"kind": "directory", "path": path, "content_is_ours": true});
    let moved = |from: &str, to: &str| json!({"event": "moved", "from": from, "to": to});
    let play = playground.path("").display().to_string();
    let play = play.trim_end_matches('/');
    let image = json!({"kind": "image", "path": own("/gone") + "/a/f1"});
    for (from, to) in [
        ("/gone".to_owned(), format!("{play}/full")),
        (own("/gone"), format!("{play}/full")),
        (own("/gone") + "/a", format!("{play}/full")),
        ("/elsewhere".to_owned(), play.to_owned()),
        ("/gone".to_owned(), format!("{play}/x/..")),
        ("gone".to_owned(), play.to_owned()),
    ] {
        let lines = lines_of(&[
            owner(Path::new("/gone")),
            step(0, &directory(own("/gone"))),
            step(1, &directory(own("/gone") + "/a")),
            step(2, &image),
            moved(&from, &to),
        ]);
        let about = format!("{from} to {to}");
        let outcome = trial.replay(&playground, &sealed(&trial.registry.key, NAME, &lines), &about);
        let keeps_the_name = from == "/gone" && to == format!("{play}/full");
        assert_eq!(
            matches!(outcome, JournalOutcome::Unreadable { .. }),
            !keeps_the_name,
            "{about}: {outcome:?}"
        );
    }
}

#[test]
fn a_directory_older_than_the_journal_is_none_that_it_speaks_of() {
    let playground = Playground::new();
    let trial = Trial::new();
    let empty = playground.path("empty");
    let identity = playground::identity(&empty);
    let lines = lines_of(&[
        owner(&empty),
        step(0, &json!({"kind": "directory", "path": empty, "content_is_ours": false})),
        json!({"event": "made", "number": 0, "identity": identity}),
    ]);
    if fs::metadata(&empty).unwrap().created().is_err() {
        eprintln!("skipped: this filesystem does not tell when a directory was made");
        return;
    }
    // Both are stamped with the last timer tick.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let outcome = trial.replay(&playground, &sealed(&trial.registry.key, NAME, &lines), "an older one");
    assert!(matches!(outcome, JournalOutcome::Undone { .. }), "{outcome:?}");
}

/// A journal with a step of each kind, all of the session's own and none of them there. A setting of the kernel always is, so
/// that there is none.
fn good_lines() -> Vec<Value> {
    let own = format!("/gone/iostone-{TOKEN}");
    let uuid = new_uuid(TOKEN).unwrap();
    let device = [259, 4000];
    let steps = [
        json!({"kind": "processes", "variable": "IOSTONE_RUN", "value": TOKEN}),
        json!({"kind": "directory", "path": "/gone", "content_is_ours": false}),
        json!({"kind": "directory", "path": own, "content_is_ours": true}),
        json!({"kind": "image", "path": format!("{own}/volume.img")}),
        json!({"kind": "loop", "backing": format!("{own}/volume.img"), "identity": {"dev": 1, "ino": 2}}),
        json!({"kind": "queue", "name": "nvme9n9", "number": device, "diskseq": 7, "setting": "queue/read_ahead_kb", "old": "128"}),
        json!({"kind": "btrfs_devices", "numbers": [device]}),
        json!({"kind": "mkfs", "device": "/dev/gone", "size_bytes": 1, "uuid": uuid}),
        json!({"kind": "md_array", "node": "/dev/md127", "uuid": uuid, "members": ["/dev/gone"]}),
        json!({"kind": "volume_group", "name": format!("iostone-{TOKEN}"), "members": ["/dev/gone"]}),
        json!({"kind": "server", "variable": "IOSTONE_SERVER", "value": format!("{TOKEN}-10")}),
        json!({"kind": "nbd", "number": [43, 4000], "socket": format!("{own}/trial-1/s")}),
        json!({"kind": "fuse", "target": format!("{own}/trial-1/f")}),
        json!({"kind": "mount", "target": format!("{own}/mount"), "number": device}),
        json!({"kind": "layer_mount", "target": format!("{own}/container")}),
        json!({"kind": "hand_down", "group": "/gone", "controllers": ["cpu"]}),
        json!({"kind": "control_group", "path": own, "home": "/gone"}),
        json!({"kind": "engine", "variable": "IOSTONE_ENGINE", "value": format!("{TOKEN}-17"),
               "roots": [format!("{own}/engine")], "group": format!("iostone-{TOKEN}-engine")}),
    ];
    let mut lines = vec![owner(Path::new("/gone"))];
    lines.push(json!({"event": "claimed", "number": device, "diskseq": 7}));
    lines.extend(steps.iter().enumerate().map(|(number, one)| step(number, one)));
    lines.push(json!({"event": "made", "number": 2, "identity": {"dev": 1, "ino": 2}}));
    lines.push(json!({"event": "moved", "from": "/gone", "to": "/lost"}));
    lines.push(json!({"event": "undone", "number": 17}));
    lines
}

/// The values within a line that hold no others.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Object(fields) => fields.iter_mut().flat_map(|(_, field)| leaves(field)).collect(),
        Value::Array(items) => items.iter_mut().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}

#[test]
fn mutants_of_a_good_journal_change_nothing() {
    let playground = Playground::new();
    let trial = Trial::new();
    let good = good_lines();
    let key = &trial.registry.key;
    let whole = sealed(key, NAME, &lines_of(&good));
    let outcome = trial.replay(&playground, &whole, "the good one");
    assert!(matches!(outcome, JournalOutcome::Undone { .. }), "{outcome:?}");
    let values = playground.values();
    let mut chance = Chance(0x10_57_0e);
    let mut readable = 0;
    for mutant in 0..MUTANTS {
        let mut lines = good.clone();
        let (one, two) = (chance.below(lines.len()), chance.below(lines.len()));
        let kind = mutant % 5;
        match kind {
            0 => lines.swap(one, two),
            1 => lines.insert(one, lines[two].clone()),
            2 => drop(lines.remove(one)),
            _ => {
                let value = chance.choose(&values).clone();
                let mut leaves = leaves(&mut lines[one]);
                let place = chance.below(leaves.len());
                *leaves[place] = value;
            }
        }
        let about = format!("mutant {mutant}");
        let bytes = sealed(key, NAME, &lines_of(&lines));
        let outcome = trial.replay(&playground, &bytes, &about);
        readable += u32::from(!matches!(outcome, JournalOutcome::Unreadable { .. }));
        // The same without the key: the lines keep the seals that they have.
        let mut bytes = whole.clone();
        let sealed_lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
        match kind {
            0 | 1 if one == two => continue,
            0 => {
                let mut lines = sealed_lines.clone();
                lines.swap(one, two);
                bytes = lines.concat();
            }
            1 => {
                let mut lines = sealed_lines.clone();
                lines.insert(one, sealed_lines[two]);
                bytes = lines.concat();
            }
            2 => {
                // The last line may be missing: that is what a crash leaves.
                let left_out = one.min(good.len() - 2);
                bytes = [&sealed_lines[..left_out], &sealed_lines[left_out + 1..]].concat().concat();
            }
            3 => {
                let bit = chance.below((bytes.len() - 1) * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            _ => {
                bytes.truncate(chance.below(bytes.len()));
                trial.replay(&playground, &bytes, &format!("{about} cut to {}", bytes.len()));
                continue;
            }
        }
        trial.is_unreadable(&playground, &bytes, &format!("{about} without the key"));
    }
    assert!((5..200).contains(&readable), "{readable} of {MUTANTS} could be read");
}
