"""Prints a hash of each file whose path stands on standard input: `HASH PATH`, one a line.

Of a Rust file only the code counts: comments that no macro reads, and white space outside literals, are left out. So a
stage that builds and runs the code is not run again after a change that the compiler does not see. Comments of
documentation count where a macro may read them, which is wherever a manifest names one of DOC_READING_CRATES.

    git ls-files | python3 tests/harness/code_hash.py
"""

import hashlib
import os
import re
import sys

# Their derives turn comments of documentation into texts of the program.
DOC_READING_CRATES = ["clap", "schemars", "displaydoc"]

# What a Rust file consists of, as far as comments need it. A lifetime, and every other character, is OTHER.
TOKEN = re.compile(
    r"""
    (?P<literal>
        \b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)         # a raw string
      | \b[bc]?"(?:[^"\\]|\\.)*"                        # a string, with its prefix
      | "(?:[^"\\]|\\.)*"
      | '(?:[^'\\\n]|\\(?:u\{[0-9a-fA-F_]*\}|x[0-9a-fA-F]{2}|.))'  # a character
    )
  | (?P<doc>//(?:/(?!/)|!)[^\n]*)
  | (?P<comment>//[^\n]*)
  | (?P<block>/\*)
  | (?P<space>\s+)
  | (?P<other>[^\s"'/bcr]+|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def code(text, with_docs):
    """Returns a Rust file's code. Returns None if the file has a comment in a block, which may nest, or a literal that
    does not end.
    """
    parts = []
    for token in TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "hashes":
            kind = "literal"
        if kind == "block" or (kind == "other" and token.group() == '"'):
            return None
        is_left_out = kind in ("space", "comment") or (kind == "doc" and not with_docs)
        if not is_left_out:
            parts.append(token.group())
        elif parts and parts[-1] != " ":
            parts.append(" ")
    return "".join(parts).strip()


def crates_that_read_docs(names):
    """Returns the folders of those crates among the files whose manifest names one of DOC_READING_CRATES."""
    folders = []
    for name in names:
        if name.endswith("/Cargo.toml"):
            with open(name, encoding="utf-8") as manifest:
                words = re.findall(r"[\w-]+", manifest.read())
            if any(crate in words for crate in DOC_READING_CRATES):
                folders.append(name.removesuffix("Cargo.toml"))
    return tuple(folders)


def file_hash(name, reads_docs):
    """Returns the hash of a file's code, or of its contents if it is not Rust, and of whether it can be run."""
    with open(name, "rb") as file:
        contents = file.read()
    if name.endswith(".rs"):
        without = code(contents.decode(), with_docs=name.startswith(reads_docs))
        if without is not None:
            contents = without.encode()
    mode = b"x" if os.access(name, os.X_OK) else b"-"
    return hashlib.sha256(mode + contents).hexdigest()


def main():
    # A file that was deleted and not yet committed is listed, too.
    names = [name for name in sys.stdin.read().splitlines() if os.path.isfile(name)]
    reads_docs = crates_that_read_docs(names)
    for name in names:
        print(file_hash(name, reads_docs), name)


if __name__ == "__main__":
    main()
