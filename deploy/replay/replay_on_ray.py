"""Replays a fleet's recordings on a Ray cluster: each shard of the manifest is a task.

usage: replay_on_ray.py ARCHIVE MANIFEST SHARDS [WORD ...]

Further words go to `whyoom-fleet replay`, as `--whyoom PATH`. Each node needs whyoom-fleet, whyoom, the recordings
under the same paths, and the keys of the archive in the environment that `ray start` had: neither data nor keys go
through Ray. A task whose worker or node dies starts again elsewhere; results that are there already are kept. Take
several times as many shards as CPUs.
"""

import subprocess
import sys

import ray

COMMAND = "whyoom-fleet"


@ray.remote(num_cpus=1, max_retries=-1)
def replay(words, shard):
    ended = subprocess.run([*words, "--shard", shard], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return ended.returncode, ended.stderr[-1000:]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    archive, manifest, shards = sys.argv[1], sys.argv[2], int(sys.argv[3])
    words = [COMMAND, "replay", archive, "--manifest", manifest, *sys.argv[4:]]
    # From RAY_ADDRESS, or the cluster that runs on this machine.
    ray.init(address="auto", log_to_driver=False)
    for code, said in ray.get([replay.remote(words, f"{at}/{shards}") for at in range(shards)]):
        if code != 0:
            print(f"a shard ended with {code}: {said}", file=sys.stderr)
    # What is missing makes it fail, whatever the reason.
    sys.exit(subprocess.run([*words, "--sum"]).returncode)


if __name__ == "__main__":
    main()
