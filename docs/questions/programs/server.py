"""An inference server: this process talks to people, its engine has the GPU."""

import subprocess

engine = subprocess.Popen(["python", "engine.py"])
engine.wait()
