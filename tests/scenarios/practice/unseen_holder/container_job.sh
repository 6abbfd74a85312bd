# A job in a container (a PID namespace of its own); the holder is outside it, and not listed there.
. "$CASES/scenes/common.sh"
hold 0=5000
tell "$held"
# shellcheck disable=SC2086  # Words.
unshare --pid --fork --mount-proc $RECORD "$job" 3000
