# nvidia-smi shows memory in use and no process: the holder is outside this PID namespace.
. "$CASES/scenes/common.sh"
hold 0=5000
tell "$held"
# shellcheck disable=SC2086  # Words.
unshare --pid --fork --mount-proc $WHO
