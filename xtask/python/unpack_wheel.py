"""Unpacks a wheel to where an installer would put its files: unpack_wheel.py WHEEL FOLDER"""

import pathlib
import sys
import zipfile

SCHEMES = {"scripts": "bin", "data": "", "headers": "include"}


def destination(name):
    parts = pathlib.PurePosixPath(name).parts
    if parts[0].endswith(".data"):
        return pathlib.PurePosixPath(SCHEMES[parts[1]], *parts[2:])
    return pathlib.PurePosixPath("lib", "python", name)


def main(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        for file in archive.infolist():
            if file.is_dir():
                continue
            path = pathlib.Path(folder) / destination(file.filename)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(file))
            if path.parent.name == "bin":
                path.chmod(0o755)


main(*sys.argv[1:])
