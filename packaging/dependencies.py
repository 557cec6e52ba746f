#!/usr/bin/env python3
"""Lists what is linked into the binary: a CycloneDX document, and the licences of all of it with their texts.

dependencies.py TARGET BINARY SBOM LICENCES; reads the lock file and the sources that cargo has fetched, offline.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import quote

CARGO = os.environ.get("CARGO", "cargo")
OFFLINE = ["--locked", "--offline"]
LICENCE_FILE = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)([-_. ].*)?$")


def cargo(*arguments):
    return subprocess.run([CARGO, *arguments], check=True, capture_output=True, text=True).stdout


def linked(target):
    """Name and version of each crate whose code is in the binary, iostone's own among them."""
    tree = cargo(
        "tree", *OFFLINE, "-p", "iostone", "--target", target, "-e", "normal,no-proc-macro",
        "--prefix", "none", "--no-dedupe", "--format", "{p}",
    )  # fmt: skip
    return {tuple(line.split()[:2]) for line in tree.splitlines() if line}


def packages(target):
    """Packages of the binary as `cargo metadata` describes them, and the packages that each depends on, by id."""
    described = json.loads(cargo("metadata", *OFFLINE, "--format-version", "1", "--filter-platform", target))
    wanted = linked(target)
    chosen = {p["id"]: p for p in described["packages"] if (p["name"], "v" + p["version"]) in wanted}
    edges = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        for node in described["resolve"]["nodes"]
    }
    return chosen, {id: [dep for dep in edges[id] if dep in chosen] for id in chosen}


def expression(package):
    """The licence as SPDX has it; older packages separate alternatives by a slash."""
    licence = package["license"]
    if not licence:
        sys.exit(f"{package['name']} states no licence")
    return re.sub(r"\s*/\s*", " OR ", licence)


def texts(package):
    """Licence files of a package."""
    directory = Path(package["manifest_path"]).parent
    named = {p for p in directory.iterdir() if p.is_file() and LICENCE_FILE.match(p.name)}
    if package["license_file"]:
        named.add(directory / package["license_file"])
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(named)]


def c_library(binary):
    """The version of the C library in a static binary, as it says it itself."""
    found = re.search(rb"GNU C Library \(([^)]*)\) [a-z]+ release version ([0-9.]+[0-9])", Path(binary).read_bytes())
    return (found[2].decode(), found[1].decode()) if found else None


def beside_crates(binary):
    """What is linked and is no crate: name, version, licence, where its source is."""
    version = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    rows = [("rust-std", version, "MIT OR Apache-2.0", "https://github.com/rust-lang/rust")]
    number, build = c_library(binary) or ("of the build machine", "")
    name = f"{number} ({build})" if build else number
    return [*rows, ("glibc", name, "LGPL-2.1-or-later", "https://sourceware.org/glibc")]


def sbom(chosen, edges, others, version, moment):
    locked = tomllib.loads(Path("Cargo.lock").read_text())["package"]
    checksums = {(p["name"], p["version"]): p["checksum"] for p in locked if "checksum" in p}
    own = {id for id, p in chosen.items() if p["source"] is None}
    purl = {id: f"pkg:cargo/{p['name']}@{quote(p['version'])}" for id, p in chosen.items() if id not in own}
    components = []
    for id in purl:
        package = chosen[id]
        component = {
            "type": "library", "bom-ref": purl[id], "name": package["name"], "version": package["version"],
            "licenses": [{"expression": expression(package)}], "purl": purl[id],
        }  # fmt: skip
        if checksum := checksums.get((package["name"], package["version"])):
            component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        components.append(component)
    components.sort(key=lambda component: component["bom-ref"])
    components += [
        {"type": "library", "bom-ref": name, "name": name, "version": number, "licenses": [{"expression": licence}]}
        for name, number, licence, _ in others
    ]
    # iostone's crates are one program to whoever asks what is in it.
    direct = sorted({purl[dep] for id in own for dep in edges[id] if dep not in own})
    dependencies = [{"ref": "iostone", "dependsOn": direct + [name for name, *_ in others]}]
    dependencies += [
        {"ref": ref, "dependsOn": sorted(purl[dep] for dep in edges[id])}
        for id, ref in sorted(purl.items(), key=lambda pair: pair[1])
    ]
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {
            "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application", "bom-ref": "iostone", "name": "iostone", "version": version,
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
            },
        },
        "components": components, "dependencies": dependencies,
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(document).encode()).hexdigest()
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, digest)}"
    return json.dumps(document, indent=2) + "\n"


def licences(chosen, others):
    """A table, then each distinct text once with the packages that have it."""
    outside = sorted((p for p in chosen.values() if p["source"]), key=lambda p: (p["name"], p["version"]))
    lines = ["What is linked into iostone, its licence, and where its source is.", ""]
    holders = {}
    for package in outside:
        name = f"{package['name']} {package['version']}"
        source = package["repository"] or f"https://crates.io/crates/{package['name']}"
        lines.append(f"{name:<32} {expression(package):<44} {source}")
        for text in texts(package):
            holders.setdefault(text, []).append(name)
    lines += [f"{name + ' ' + version:<32} {licence:<44} {source}" for name, version, licence, source in others]
    silent = [f"{p['name']} {p['version']}" for p in outside if not texts(p)]
    lines += ["", "Packages without a licence file of their own: " + (", ".join(silent) or "none") + ".",
              "The texts of Apache-2.0 and MIT stand below, as other packages have them. The GNU C Library is linked",
              "statically; iostone's source and Makefile are what is needed to link it with another version."]  # fmt: skip
    for text, names in sorted(holders.items(), key=lambda pair: pair[1]):
        lines += ["", "=" * 100, *names, "-" * 100, text]
    return "\n".join(lines) + "\n"


def main():
    target, binary, sbom_path, licences_path = sys.argv[1:]
    chosen, edges = packages(target)
    version = next(p["version"] for p in chosen.values() if p["name"] == "iostone")
    moment = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    others = beside_crates(binary)
    Path(sbom_path).write_text(sbom(chosen, edges, others, version, moment))
    Path(licences_path).write_text(licences(chosen, others))


main()
