"""Checks the table of stage inputs in .ci/run.

- Every path that the table names exists.
- Every file in a folder other than .ci and .github is an input of a stage besides `words` and `hygiene`.
- For each path one file is changed in a copy; exactly the stages that name it must get another fingerprint. A comment in
  a file of Rust changes the fingerprint of those only that judge comments.

Not checked: whether a stage reads a file that it does not name.

    python3 .ci/inputs.py
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HASH_SCRIPT = "tests/harness/code_hash.py"


def git(*arguments, folder=ROOT):
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def stage_inputs():
    """Returns the paths of each stage, as the table of .ci/run has them."""
    script = (ROOT / ".ci/run").read_text()
    code = re.search(r"^code='([^']*)'$", script, re.MULTILINE).group(1)
    table = re.search(r"^declare -A inputs=\(\n(.*?)^\)$", script, re.MULTILINE | re.DOTALL).group(1)
    inputs = {}
    for line in table.splitlines():
        name, paths = re.fullmatch(r"""\s*\[(\w+)\]=["'](.*)["']""", line).groups()
        inputs[name] = paths.replace("$code", code).split()
    return inputs


def fingerprints(folder, stages):
    """Returns the fingerprint that .ci/run computes for each stage in a checkout."""
    script = (folder / ".ci/run").read_text()
    table = script[script.index("code='") : script.index("# Installs what a new machine may lack")]
    # The versions of tools stay the same here, and asking for them is slow.
    fixed = 'rustc() { :; }; python3() { [ "$1" = --version ] || command python3 "$@"; }; uname() { :; }'
    loop = f'for stage in {" ".join(stages)}; do fingerprint "$stage"; done'
    command = f"set -euo pipefail\n{table}\n{fixed}\n{loop}"
    ran = subprocess.run(["bash", "-c", command], cwd=folder, check=True, capture_output=True, text=True)
    return dict(zip(stages, ran.stdout.splitlines(), strict=True))


def stages_without_comments():
    """Returns the stages of which comments are no input, as the list in .ci/run has them."""
    script = (ROOT / ".ci/run").read_text()
    names = re.search(r"^stages_without_comments=\((.*?)\)$", script, re.MULTILINE | re.DOTALL).group(1)
    return set(names.split())


def is_at_or_below(path, file):
    return path == "." or file == path or file.startswith(path + "/")


def copy_of_sample(folder, files):
    """Makes a checkout of its own with some files of this one."""
    for name in {*files, ".ci/run", HASH_SCRIPT}:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    git("init", "--quiet", folder=folder)
    git("add", "--all", folder=folder)


def changed_stages(folder, before, name, addition):
    """Returns the stages whose fingerprint is another than before if a text is added to a file."""
    file = folder / name
    contents = file.read_bytes()
    file.write_bytes(contents + addition)
    git("add", name, folder=folder)
    after = fingerprints(folder, list(before))
    file.write_bytes(contents)
    git("add", name, folder=folder)
    return {stage for stage in before if before[stage] != after[stage]}


def differences(change, expected, found):
    """Returns what is wrong with the stages that a change makes run."""
    problems = []
    for stage in sorted(expected ^ found):
        verb = "does not make it run" if stage in expected else "makes it run, and should not"
        problems.append(f"{stage}: {change} {verb}")
    return problems


def main():
    problems = []
    files = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    files = [name for name in files if (ROOT / name).exists()]
    inputs = stage_inputs()
    sample = {}
    for stage, paths in inputs.items():
        for path in paths:
            found = next((name for name in files if is_at_or_below(path, name)), None)
            if found is None:
                problems.append(f"{stage}: no file is below {path}")
            sample[path] = found
    sample["a file of Rust"] = "crates/causes/src/lib.rs"
    # `hygiene` and `words` read everything; another stage must name what is built, run or rendered.
    named = {path for stage, paths in inputs.items() for path in paths if path != "."}
    for name in files:
        if not any(is_at_or_below(path, name) for path in named) and "/" in name and not name.startswith((".github/", ".ci/")):
            problems.append(f"{name} is an input of no stage but `words` and `hygiene`")
    changed_files = sorted({name for name in sample.values() if name and not name.startswith(".ci/")})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_of_sample(folder, changed_files)
        before = fingerprints(folder, list(inputs))
        for name in changed_files:
            expected = {stage for stage, paths in inputs.items() if any(is_at_or_below(path, name) for path in paths)}
            addition = b"\nmod changed;\n" if name.endswith(".rs") else b"\n# changed\n"
            found = changed_stages(folder, before, name, addition)
            problems += differences(f"a change in {name}", expected, found)
            if name.endswith(".rs"):
                found = changed_stages(folder, before, name, b"\n// changed\n")
                problems += differences(f"a comment in {name}", expected - stages_without_comments(), found)
    for problem in problems:
        print(problem)
    print(f"inputs: {len(inputs)} stages, {len(files)} files, {len(changed_files)} changes tried on each stage")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
