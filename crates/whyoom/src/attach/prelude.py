"""What comes first in the thread: a program without PyTorch is told apart before anything is imported that it may not
have. The rest is what `keepers.py` has from `startup.py` where whyoom starts a program."""

import os
import sys


def harmless(function):
    return function


def run_the_other_sitecustomize():
    pass


def make_private(path):
    """A new file that nobody else may read, whatever the umask."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


class Answer:
    """What whyoom reads, written once it is whole."""

    def __init__(self):
        self.facts = {"python": sys.version.split()[0], "state": "failed"}

    def write(self, name="answer.json"):
        self.facts["main_seconds"] = in_main[0] if in_main else None
        path = f"{FOLDER}/{name}"
        with open(make_private(path + ".part"), "w") as file:
            file.write("{" + ", ".join(f'"{key}": {as_json(value)}' for key, value in self.facts.items()) + "}")
        os.rename(path + ".part", path)


def as_json(value):
    """Without the module for it, which a program without torch may not have loaded."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else " " for c in str(value)) + '"'


answer = Answer()
if "torch" not in sys.modules:
    answer.facts["state"] = "no-torch"
    answer.write()
    # Whoever runs this ends the thread.
    raise SystemExit
