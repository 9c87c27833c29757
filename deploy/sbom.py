#!/usr/bin/env python3
"""Writes the bill of materials of a built gateway (CycloneDX 1.6): Swift's packages, Swift itself and Debian's libraries.

  swift package show-dependencies --format json | deploy/sbom.py .build/release/sallyport > sallyport.cdx.json

Run it where the gateway was built, on Debian: it asks the tools there and nothing else, so the same build gives the same
document. deploy/Dockerfile does so for the image. The packages are those that SwiftPM fetches, which are more than it links.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import uuid
from pathlib import Path
from urllib.parse import quote


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def library(purl, name, version, **more):
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, **more}


def swift_packages(tree):
    """The packages, and what each needs: purls by purl. In the tree a package stands below each that needs it."""
    packages, needs = {}, {}

    def visit(package):
        place = re.sub(r"^https://|\.git$", "", package["url"])
        purl = f"pkg:swift/{place}@{package['version']}"
        group, _, name = place.rpartition("/")
        packages[purl] = library(purl, name, package["version"], group=group)
        needs[purl] = sorted({visit(other) for other in package["dependencies"]})
        return purl

    direct = {visit(package) for package in tree["dependencies"]}
    return direct, packages, needs


def swift_itself():
    version = re.search(r"Swift version (\S+)", output("swift", "--version")).group(1)
    purl = f"pkg:github/swiftlang/swift@swift-{version}-RELEASE"
    return library(purl, "swift", version, description="The runtime, which the binary carries")


def debian_package(name, version, architecture):
    release = platform.freedesktop_os_release()
    place = f"{release['ID']}/{quote(name, safe='')}@{quote(version, safe='')}"
    return library(f"pkg:deb/{place}?arch={architecture}&distro={release['ID']}-{release['VERSION_ID']}", name, version)


def debian_package_of(path):
    # dpkg knows a file by the path that its package has: from before or after the move of /lib to /usr/lib.
    real = os.path.realpath(path)
    for name in (real, real.removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            package = found.stdout.split(": ")[0]
            return debian_package(*output("dpkg-query", "-Wf", "${Package} ${Version} ${Architecture}", package).split())
    sys.exit(f"{path} belongs to no Debian package")


def base_packages(folder):
    """The packages of a base image without dpkg: its /var/lib/dpkg/status.d has a file for each."""
    for file in Path(folder).iterdir():
        fields = dict(re.findall(r"^(Package|Version|Architecture): (\S+)$", file.read_text(), re.MULTILINE))
        if len(fields) == 3:
            yield debian_package(fields["Package"], fields["Version"], fields["Architecture"])


def bill(tree, binary, image):
    base, status, copied = image
    direct, packages, needs = swift_packages(tree)
    swift = swift_itself()
    loaded = [Path(path) for path in re.findall(r"(/\S+) \(0x", output("ldd", binary))]
    if base:
        # The other libraries of an image are its base's.
        loaded = [path for path in loaded if Path(copied, path.name).exists()]
    libraries = {package["bom-ref"]: package for package in map(debian_package_of, loaded)}
    parts = {swift["bom-ref"]: swift, **packages, **libraries}
    direct |= {swift["bom-ref"], *libraries}
    if base:
        name, _, digest = base.partition("@")
        carried = {package["bom-ref"]: package for package in base_packages(status)}
        parts |= {base: {"type": "container", "bom-ref": base, "name": name, "version": digest or "not pinned"}, **carried}
        direct.add(base)
        needs[base] = sorted(carried)
    name = tree["name"]
    needs[name] = sorted(direct)
    metadata = {
        "component": {
            "type": "application",
            "bom-ref": name,
            "name": name,
            "version": output(binary, "--version").strip(),
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(binary.read_bytes()).hexdigest()}],
            "licenses": [{"license": {"id": "Apache-2.0"}}],
        }
    }
    # The time that repeatable builds agree on (https://reproducible-builds.org/specs/source-date-epoch).
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        time = datetime.datetime.fromtimestamp(int(epoch), datetime.timezone.utc)
        metadata["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ")
    document = {
        "metadata": metadata,
        "components": [parts[ref] for ref in sorted(parts)],
        "dependencies": [{"ref": ref, "dependsOn": needs.get(ref, [])} for ref in sorted([name, *parts])],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document))
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{serial}", "version": 1, **document}


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("binary", type=Path)
parser.add_argument(
    "--image",
    nargs=3,
    default=(None, None, None),
    metavar=("BASE", "STATUS", "COPIED"),
    help="of an image: its base, the base's /var/lib/dpkg/status.d, and the folder of the libraries that are copied to it",
)
arguments = parser.parse_args()
json.dump(bill(json.load(sys.stdin), arguments.binary.resolve(), arguments.image), sys.stdout, indent=2)
print()
