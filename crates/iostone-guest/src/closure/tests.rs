//! Programs of this host: what they need, and that they run without their sections.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn the_loader_s_list_is_read() {
    let listed = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibz.so.1 => /lib/x86_64/libz.so.1 (0x00007f)\n\
                  \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
    let paths = ["/lib/x86_64/libz.so.1", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
    assert_eq!(parse_list(listed).unwrap(), paths);
    assert_eq!(parse_list("\tlibgone.so.2 => not found\n").unwrap_err(), "libgone.so.2");
}

#[test]
fn a_program_is_told_from_a_script_and_from_what_is_neither() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script");
    std::fs::write(&script, "#!/usr/bin/env python3 -u\nprint()\n").unwrap();
    let words = ["/usr/bin/env", "python3", "-u"].map(str::to_owned).to_vec();
    assert_eq!(kind_of(&script).unwrap(), Kind::Script(words));
    let text = directory.path().join("text");
    std::fs::write(&text, "no program\n").unwrap();
    assert!(kind_of(&text).unwrap_err().to_string().contains("neither a 64-bit ELF file nor a script"));
    let own = std::env::current_exe().unwrap();
    assert!(matches!(kind_of(&own).unwrap(), Kind::Dynamic(_) | Kind::Static));
}

#[test]
fn a_program_runs_without_its_sections() {
    let own = std::env::current_exe().unwrap();
    let whole = std::fs::read(&own).unwrap();
    let before = whole.len();
    let cut = without_sections(whole);
    assert!(cut.len() < before, "{} of {before}", cut.len());
    assert_eq!(without_sections(cut.clone()), cut, "cutting twice is cutting once");
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    std::fs::write(&program, cut).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(&program).arg("--list").output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("a_program_runs_without_its_sections"));
}

#[test]
fn a_payload_behind_the_sections_is_kept() {
    let mut content = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    content.extend_from_slice(b"payload");
    let before = content.len();
    assert_eq!(without_sections(content).len(), before);
    assert_eq!(without_sections(b"\x7fELF".to_vec()), b"\x7fELF");
    assert_eq!(without_sections(Vec::new()), b"");
}
