"""Writes what somebody may send to harm its reader into a folder, a file each: the pickles and texts of the suite
`hostile`, and packed recordings.

usage: hostile_files.py CASES FOLDER
"""

import gzip
import importlib.util
import io
import pathlib
import tarfile
import sys

GIB = 1 << 30


def tar(files, end=b""):
    """An archive of (name, size that is claimed, contents)."""
    archive = io.BytesIO()
    for name, size, contents in files:
        info = tarfile.TarInfo(name)
        info.size = size
        archive.write(info.tobuf(tarfile.USTAR_FORMAT))
        archive.write(contents + b"\0" * (-len(contents) % 512))
    archive.write(end)
    return archive.getvalue()


def bomb(beginning, size):
    """So many zeros behind a beginning, packed small."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as out:
        out.write(beginning)
        for _ in range(size >> 20):
            out.write(b"\0" * (1 << 20))
    return packed.getvalue()


def archives():
    pack = lambda *files: gzip.compress(tar(files), mtime=0)
    yield "a bomb of 3 GiB in one file", bomb(tar([("run/1-1.part", 3 * GIB, b"")]), 3 * GIB)
    yield "a bomb of 3 GiB behind the end", bomb(tar([("run/1-1.part", 0, b"")]), 3 * GIB)
    yield "claims 4 GiB", pack(("run/1-1.part", 1 << 32, b"short"))
    noise = bytes(range(256)) * 16
    yield "zeros of 500 MiB in one file", bomb(tar([("run/1-1.part", 500 << 20, b"")]), 500 << 20)
    yield "noise beside a recording", pack(("run/1-1.part", 4096, noise), ("run/flight.model", 4096, noise), ("run/keepers-1.json", 4096, noise), ("run/run.json", 4096, noise), ("run/machine.jsonl", 4096, noise))
    yield "a snapshot of noise beside a recording", pack(("run/1-1.part", 4096, noise), ("run/torch/1.pickle", 4096, noise))
    yield "200,000 files", pack(*((f"run/{number}-1.part", 0, b"") for number in range(200_000)))
    yield "paths that go up", pack(("../../../etc/1-1.part", 3, b"abc"))
    yield "a part of nothing but noise", pack(("run/1-1.part", 4096, noise))
    yield "gzip that ends early", pack(("run/1-1.part", 4096, b"x" * 4096))[:-20]
    yield "gzip in gzip", gzip.compress(pack(("run/1-1.part", 3, b"abc")), mtime=0)


def main():
    cases, folder = map(pathlib.Path, sys.argv[1:])
    spec = importlib.util.spec_from_file_location("cases", cases)
    suite = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suite)
    inputs = [*suite.cases(), *suite.accepted(), *archives()]
    for number, (name, contents) in enumerate(inputs):
        plain = "".join(letter if letter.isalnum() else "-" for letter in name)
        (folder / f"{number:02}-{plain}.pickle").write_bytes(contents)


if __name__ == "__main__":
    main()
