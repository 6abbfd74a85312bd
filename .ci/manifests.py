"""What several files repeat is the same in all of them: the version, the Rust version, the addresses.

The workspace's Cargo.toml says it first. What another file must repeat is compared here.

    python3 .ci/manifests.py                     compare
    python3 .ci/manifests.py --print-version     print the version
    python3 .ci/manifests.py --tag v0.1.0        also: the tag is the version, and CHANGELOG.md has its section
                             --notes FILE        and write that section to a file
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INHERITED = ("edition", "license", "repository", "homepage", "documentation", "publish")
# Of the project itself: never shipped, and without a version.
UNVERSIONED = ("tests", "xtask")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def manifest(path):
    return tomllib.loads(read(path))


def only(pattern, path):
    """The one value of a pattern in a file: none, or different ones, are an error."""
    found = set(re.findall(pattern, read(path), re.MULTILINE))
    return found.pop() if len(found) == 1 else f"{sorted(found) or 'nothing'}"


def section(version):
    """What CHANGELOG.md says of a version, or None."""
    parts = re.split(r"^## (.+)\n", read("CHANGELOG.md"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2]))
    found = (text for title, text in sections.items() if title.split()[0] == version)
    return next((text.strip() for text in found if text.strip()), None)


def crates(workspace):
    """Every member inherits what the workspace says, and no dependency on one repeats the version."""
    for name, dependency in workspace["dependencies"].items():
        if "path" in dependency and "version" in dependency:
            yield f"Cargo.toml: {name} repeats a version: a path is enough"
    for path in sorted(ROOT.glob("*/Cargo.toml")) + sorted(ROOT.glob("*/*/Cargo.toml")):
        place = path.relative_to(ROOT)
        if place.parts[0] == "fuzz":
            continue
        package = manifest(place)["package"]
        wanted = INHERITED if place.parts[0] in UNVERSIONED else INHERITED + ("version", "rust-version")
        for key in wanted:
            if package.get(key) != {"workspace": True}:
                yield f"{place}: {key} is not the workspace's"


def lock(version):
    for package in manifest("Cargo.lock")["package"]:
        ours = package["name"].startswith("whyoom") and package["name"] != "whyoom-tests"
        if ours and package["version"] != version:
            yield f"Cargo.lock: {package['name']} is {package['version']}, not {version}: cargo update --workspace"


def python(package):
    project = manifest("python/pyproject.toml")["project"]
    if "version" in project or "version" not in project.get("dynamic", []):
        yield "python/pyproject.toml: the version must come from Cargo.toml (dynamic)"
    if project["description"] != package["description"]:
        yield "python/pyproject.toml: another description than Cargo.toml's"
    urls = project.get("urls", {})
    for key in ("repository", "homepage", "documentation"):
        if urls.get(key.capitalize()) != package[key]:
            yield f"python/pyproject.toml: {key} is not {package[key]}"
    yield from (f"python/pyproject.toml: {url} is elsewhere"
                for url in urls.values() if not url.startswith((package["repository"], package["documentation"])))


def repeated(package):
    """Files that are neither Cargo's nor Python's."""
    version, rust = package["version"], package["rust-version"]
    image = r"\brust:([0-9.]+)-"
    workflows = sorted(path.relative_to(ROOT) for path in ROOT.glob(".github/workflows/*.yml"))
    rows = [("conda/recipe.yaml", r'^  version: "([^"]+)"', version),
            ("conda/recipe.yaml", r"^  homepage: (\S+)", package["homepage"]),
            ("conda/recipe.yaml", r"^  repository: (\S+)", package["repository"]),
            ("conda/recipe.yaml", r"^  documentation: (\S+)", package["documentation"]),
            ("conda/variants.yaml", r'^rust_compiler_version: \["([0-9.]+)"\]', rust),
            ("Dockerfile", image, rust),
            ("Dockerfile", r'image.source="([^"]+)"', package["repository"]),
            ("README.md", r"with Rust ([0-9.]+)", rust)]
    rows += [(path, image, rust) for path in workflows if re.search(image, read(path))]
    for path, pattern, wanted in rows:
        found = only(pattern, path)
        if found != wanted:
            yield f"{path}: {found} where Cargo.toml says {wanted}"
    for path in sorted(ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")) + [ROOT / ".github/pull_request_template.md"]:
        for url in re.findall(r"https://[^\s)]+", path.read_text(encoding="utf-8")):
            if not url.startswith((package["repository"], package["documentation"])):
                yield f"{path.relative_to(ROOT)}: {url} is elsewhere"


def npm():
    """The gate installs what package-lock.json names: the same that package.json asks for."""
    wanted = json.loads(read(".ci/hygiene/package.json"))["dependencies"]
    locked = json.loads(read(".ci/hygiene/package-lock.json"))["packages"]
    for name, version in wanted.items():
        if locked.get(f"node_modules/{name}", {}).get("version") != version:
            yield f".ci/hygiene/package-lock.json: {name} is not {version}"


def release(tag, version, notes):
    if tag != f"v{version}":
        yield f"the tag {tag} is not v{version}"
    text = section(version)
    if text is None:
        yield f"CHANGELOG.md: no section for {version}"
    elif notes:
        notes.write_text(text + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--print-version", action="store_true")
    parser.add_argument("--tag")
    parser.add_argument("--notes", type=Path)
    arguments = parser.parse_args()
    workspace = manifest("Cargo.toml")["workspace"]
    package = workspace["package"]
    version = package["version"]
    if arguments.print_version:
        print(version)
        return 0
    wrong = [*crates(workspace), *lock(version), *python(package), *repeated(package), *npm()]
    if arguments.tag is not None:
        wrong += release(arguments.tag, version, arguments.notes)
    for line in wrong:
        print(line, file=sys.stderr)
    if not wrong:
        print(f"manifests: version {version}, Rust {package['rust-version']}, the same everywhere")
    return 1 if wrong else 0


sys.exit(main())
