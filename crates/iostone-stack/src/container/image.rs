//! What lies in the lowest layer: the archive that an engine imports, and the workload's files.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use iostone_model::experiment::{LARGE_FILE, LowerFiles, small_file};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::Provision;
use crate::error::StackError;
use crate::fill::forget_cache;

/// Where the workload works inside, in the container's own layer.
pub(super) const LAYER_INSIDE: &str = "/iostone/work";
/// Where a directory of the stack's filesystem is mounted inside.
pub(super) const BIND_INSIDE: &str = "/iostone/bind";
/// Where a volume of the engine's is mounted inside.
pub(super) const VOLUME_INSIDE: &str = "/iostone/volume";
/// Where memory is mounted inside.
pub(super) const TMPFS_INSIDE: &str = "/iostone/tmpfs";

/// Bytes that travel at once.
const CHUNK_BYTES: usize = 256 << 10;
/// Keeps the files apart from the content of the volume below, which comes from the same seed.
const SALT: u64 = 0x6c6f_7765_7266_696c;

/// Writes the image as one tar stream: the archive's members, the directories of this module, and the workload's files
/// below [`LAYER_INSIDE`]. The format is the one of `docker import`: tar(5), ustar with GNU's large sizes.
///
/// # Errors
/// [`StackError::Container`] when the archive cannot be read or the engine hangs up, [`StackError::Interrupted`].
pub(super) fn write_image(
    provision: &Provision,
    seed: u64,
    sink: impl Write,
    interrupt: Option<&AtomicBool>,
) -> Result<(), StackError> {
    let mut image = tar::Builder::new(BufWriter::with_capacity(CHUNK_BYTES, Sink { sink, interrupt }));
    let written = write_members(provision, seed, &mut image, interrupt)
        .and_then(|()| image.into_inner()?.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|mut sink| sink.flush());
    written.map_err(|error| {
        if is_raised(interrupt) {
            return StackError::Interrupted;
        }
        StackError::Container { engine: "container", reason: format!("the image cannot be written: {error}") }
    })
}

fn write_members(
    provision: &Provision,
    seed: u64,
    image: &mut tar::Builder<impl Write>,
    interrupt: Option<&AtomicBool>,
) -> io::Result<()> {
    // Docker imports no archive in which a path comes twice.
    let mut given = BTreeSet::new();
    if let Some(archive) = &provision.archive {
        let told = |error: io::Error| io::Error::other(format!("reading `{}`: {error}", archive.display()));
        let file = File::open(archive).map_err(told)?;
        let mut members = tar::Archive::new(BufReader::with_capacity(CHUNK_BYTES, file));
        // Raw, so that long names and extended headers, which are members of their own, are handed on as they are.
        for member in members.entries().map_err(told)?.raw(true) {
            let member = member.map_err(told)?;
            let header = member.header().clone();
            if header.entry_type().is_gnu_sparse() {
                return Err(told(io::Error::other("it contains a sparse file, which is not supported")));
            }
            given.insert(header.path()?.into_owned());
            image.append(&header, member)?;
        }
    }
    for directory in ["/iostone", LAYER_INSIDE, BIND_INSIDE, VOLUME_INSIDE, TMPFS_INSIDE] {
        // Paths compare by their parts: a slash at the end makes no difference.
        if given.contains(Path::new(inside_archive(directory))) {
            continue;
        }
        let mut header = header_of(tar::EntryType::Directory, 0o755, 0);
        image.append_data(&mut header, format!("{}/", inside_archive(directory)), io::empty())?;
    }
    for file in provision.lower.iter().flat_map(|lower| files_of(*lower, seed)) {
        let mut header = header_of(tar::EntryType::Regular, 0o644, file.bytes);
        let name = format!("{}/{}", inside_archive(LAYER_INSIDE), file.name);
        image.append_data(&mut header, name, file.content(interrupt))?;
    }
    Ok(())
}

/// Names in an archive are relative to its root.
fn inside_archive(path: &str) -> &str {
    path.trim_start_matches('/')
}

fn header_of(kind: tar::EntryType, mode: u32, bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(bytes);
    header
}

/// Lays the workload's files into a directory of this host, from random data of that seed, flushes them to the disk and
/// takes them out of the page cache.
///
/// # Errors
/// [`StackError::Io`], [`StackError::Interrupted`]; what was written stays, for the caller undoes.
pub(super) fn lay_lower(
    lower: LowerFiles,
    directory: &Path,
    seed: u64,
    interrupt: Option<&AtomicBool>,
) -> Result<(), StackError> {
    for content in files_of(lower, seed) {
        let path = directory.join(&content.name);
        let file = File::create_new(&path).map_err(|error| StackError::io("create", &path, error))?;
        let mut writer = BufWriter::with_capacity(CHUNK_BYTES, file);
        let written = io::copy(&mut content.content(interrupt), &mut writer).and_then(|_| writer.flush());
        written.map_err(|error| {
            if is_raised(interrupt) { StackError::Interrupted } else { StackError::io("write", &path, error) }
        })?;
    }
    let root = File::open(directory).map_err(|error| StackError::io("open", directory, error))?;
    // One flush for all of them is quicker than one for each.
    rustix::fs::syncfs(&root).map_err(|error| StackError::io("syncfs", directory, error))?;
    for content in files_of(lower, seed) {
        let path = directory.join(&content.name);
        let file = File::open(&path).map_err(|error| StackError::io("open", &path, error))?;
        forget_cache(&file, &path)?;
    }
    Ok(())
}

fn is_raised(interrupt: Option<&AtomicBool>) -> bool {
    interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// One of the workload's files.
struct LowerFile {
    name: String,
    bytes: u64,
    seed: u64,
}

impl LowerFile {
    fn content<'flag>(&self, interrupt: Option<&'flag AtomicBool>) -> io::Take<RandomBytes<'flag>> {
        let generator = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        RandomBytes { generator, chunk: Vec::new(), taken: 0, interrupt }.take(self.bytes)
    }
}

/// The files, each with a seed of its own.
fn files_of(lower: LowerFiles, seed: u64) -> impl Iterator<Item = LowerFile> {
    let large = std::iter::once((LARGE_FILE.to_owned(), lower.large.0));
    let small = (0..lower.small_count).map(move |number| (small_file(number), lower.small.0));
    (0u64..).zip(large.chain(small)).map(move |(index, (name, bytes))| LowerFile {
        name,
        bytes,
        seed: (seed ^ SALT).wrapping_add(index),
    })
}

/// Output of xoshiro256++ without end, the same however it is cut into reads.
struct RandomBytes<'flag> {
    generator: Xoshiro256PlusPlus,
    chunk: Vec<u8>,
    taken: usize,
    interrupt: Option<&'flag AtomicBool>,
}

impl Read for RandomBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() {
            stop_if_raised(self.interrupt)?;
            self.chunk.resize(CHUNK_BYTES, 0);
            self.generator.fill_bytes(&mut self.chunk);
            self.taken = 0;
        }
        let count = buffer.len().min(self.chunk.len() - self.taken);
        buffer[..count].copy_from_slice(&self.chunk[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

/// The engine's end of the stream.
struct Sink<'flag, W> {
    sink: W,
    interrupt: Option<&'flag AtomicBool>,
}

impl<W: Write> Write for Sink<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        stop_if_raised(self.interrupt)?;
        self.sink.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// Not `ErrorKind::Interrupted`, after which everybody just tries again.
fn stop_if_raised(interrupt: Option<&AtomicBool>) -> io::Result<()> {
    if is_raised(interrupt) { Err(io::Error::other("interrupted")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use iostone_model::units::Bytes;

    use super::*;

    const LOWER: LowerFiles = LowerFiles { large: Bytes(600_001), small_count: 3, small: Bytes(77) };

    fn provision(archive: &Path) -> Provision {
        Provision { archive: Some(archive.to_owned()), program: Vec::new(), lower: Some(LOWER) }
    }

    fn members(image: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut members = BTreeMap::new();
        for member in tar::Archive::new(image).entries().unwrap() {
            let mut member = member.unwrap();
            let mut content = Vec::new();
            member.read_to_end(&mut content).unwrap();
            let path = member.path().unwrap().display().to_string();
            assert!(members.insert(path.clone(), content).is_none(), "{path} comes twice");
        }
        members
    }

    #[test]
    fn the_image_holds_the_archive_the_directories_and_the_files_that_a_host_gets_too() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("root.tar");
        let mut builder = tar::Builder::new(File::create(&archive).unwrap());
        // Longer than the 100 bytes of a header's field, so that it takes a member of its own.
        let long = format!("iostone/lib/{}", "x".repeat(150));
        let mut header = header_of(tar::EntryType::Directory, 0o755, 0);
        builder.append_data(&mut header, "iostone/", io::empty()).unwrap();
        let mut header = header_of(tar::EntryType::Regular, 0o755, 5);
        builder.append_data(&mut header, &long, &b"hello"[..]).unwrap();
        builder.finish().unwrap();

        let mut image = Vec::new();
        write_image(&provision(&archive), 7, &mut image, None).unwrap();
        let found = members(&image);
        assert_eq!(found[&long], b"hello");
        for directory in ["iostone/work/", "iostone/bind/", "iostone/volume/", "iostone/tmpfs/"] {
            assert!(found.contains_key(directory), "{directory}: {:?}", found.keys());
        }
        assert_eq!(found["iostone/work/large"].len(), 600_001);
        assert_ne!(found["iostone/work/small-00000"], found["iostone/work/small-00001"]);

        lay_lower(LOWER, folder.path(), 7, None).unwrap();
        for name in ["large", "small-00000", "small-00002"] {
            let laid = std::fs::read(folder.path().join(name)).unwrap();
            assert!(laid == found[&format!("iostone/work/{name}")], "{name}");
        }
        let mut other = Vec::new();
        write_image(&provision(&archive), 8, &mut other, None).unwrap();
        assert_ne!(members(&other)["iostone/work/large"], found["iostone/work/large"]);
    }

    #[test]
    fn a_stop_and_an_engine_that_hangs_up_end_the_image() {
        let folder = tempfile::tempdir().unwrap();
        let none = Provision { lower: Some(LOWER), ..Provision::default() };
        let raised = AtomicBool::new(true);
        let stopped = write_image(&none, 7, Vec::new(), Some(&raised));
        assert!(matches!(stopped, Err(StackError::Interrupted)), "{stopped:?}");
        let stopped = lay_lower(LOWER, folder.path(), 7, Some(&raised));
        assert!(matches!(stopped, Err(StackError::Interrupted)), "{stopped:?}");
        let mut full = [0u8; 4096];
        let error = write_image(&none, 7, &mut full[..], None).unwrap_err();
        assert!(matches!(error, StackError::Container { .. }), "{error}");
        let missing = folder.path().join("missing.tar");
        let error = write_image(&provision(&missing), 7, Vec::new(), None).unwrap_err().to_string();
        assert!(error.contains("missing.tar"), "{error}");
    }
}
