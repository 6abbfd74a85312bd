# In the container a sidecar holds a little and is seen; what holds most is outside.
. "$CASES/scenes/common.sh"
cc -o "$SCRATCH/sidecar" -I "$CASES/../recorder" "$CASES/scenes/sidecar.c" -ldl
hold 0=5000
tell "$held"
# shellcheck disable=SC2086  # Words.
unshare --pid --fork --mount-proc "$SCRATCH/sidecar" 900 $RECORD "$job" 2500
