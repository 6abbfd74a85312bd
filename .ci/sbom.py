"""What a command is made of, as a CycloneDX file: every crate that is linked into it, for whatever target.

    python3 .ci/sbom.py PACKAGE FILE           writes the file, and checks it
    python3 .ci/sbom.py --check PACKAGE FILE   only checks one: it lists what `cargo tree` lists, and nothing else
"""

import json
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def cargo(*words):
    command = ["cargo", *words, "--locked", "--color=never"]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def wanted(name):
    """Every crate of a package, by its features: `cargo metadata` names also those that no feature asks for."""
    lines = cargo("tree", "--package", name, "--edges=normal", "--target=all", "--prefix=none", "--format={p}")
    words = (line.split() for line in lines.splitlines() if line)
    return {purl({"name": word[0], "version": word[1].removeprefix("v")}) for word in words}


def linked(metadata, packages, name):
    """The package and all that its normal dependencies lead to, each with what it needs itself."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    first = next(one["id"] for one in metadata["packages"] if one["name"] == name)
    crates, found, open_ = wanted(name), {}, [first]
    while open_:
        current = open_.pop()
        if current not in found:
            needs = [one for one in nodes[current]["deps"] if purl(packages[one["pkg"]]) in crates]
            normal = [one["pkg"] for one in needs if any(kind["kind"] is None for kind in one["dep_kinds"])]
            found[current] = normal
            open_ += normal
    return first, found


def component(package, checksums, kind="library"):
    made = {"type": kind, "bom-ref": purl(package), "name": package["name"], "version": package["version"], "purl": purl(package)}
    if package["license"]:
        # Older crates separate licences by a stroke.
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return made


def bill(name):
    metadata = json.loads(cargo("metadata", "--format-version=1"))
    packages = {package["id"]: package for package in metadata["packages"]}
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in lock}
    first, found = linked(metadata, packages, name)
    # A crate that only runs while others are built, as a macro does, is linked into nothing.
    is_macro = lambda id_: any("proc-macro" in target["kind"] for target in packages[id_]["targets"])
    order = sorted(found, key=lambda id_: (packages[id_]["name"], packages[id_]["version"]))
    components = [component(packages[id_], checksums) for id_ in order if id_ != first]
    for made, id_ in zip(components, (id_ for id_ in order if id_ != first)):
        made["scope"] = "excluded" if is_macro(id_) else "required"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        # The same crates have the same number.
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components))}",
        "version": 1,
        "metadata": {"component": component(packages[first], checksums, "application")},
        "components": components,
        "dependencies": [
            {"ref": purl(packages[id_]), "dependsOn": sorted({purl(packages[need]) for need in found[id_]})}
            for id_ in order
        ],
    }


def check(name, made):
    """An error where a crate is missing, or one is there that the command does not have."""
    crates = wanted(name)
    listed = {one["purl"] for one in made["components"]} | {made["metadata"]["component"]["purl"]}
    refs = {one["ref"] for one in made["dependencies"]}
    if len(crates) < 2:
        sys.exit(f"{name}: cargo lists nothing")
    for what, wrong in (("missing", crates - listed), ("not in it", listed - crates), ("not connected", listed - refs)):
        if wrong:
            sys.exit(f"{name}: {what}: {', '.join(sorted(wrong))}")
    return len(crates)


def main():
    words = sys.argv[1:]
    is_check = words[:1] == ["--check"]
    if len(words) != 2 + is_check:
        sys.exit(__doc__)
    name, path = words[-2], Path(words[-1])
    if not is_check:
        path.write_text(json.dumps(bill(name), indent=1) + "\n")
    print(f"{path}: {check(name, json.loads(path.read_text()))} crates of {name}")


if __name__ == "__main__":
    main()
