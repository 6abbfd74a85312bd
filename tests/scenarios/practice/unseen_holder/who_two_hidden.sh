# Two holders outside this PID namespace, one of them another user's.
. "$CASES/scenes/common.sh"
hold 0=2000 --user 65534
first=$held
hold 0=1500
tell "$first" "$held"
# shellcheck disable=SC2086  # Words.
unshare --pid --fork --mount-proc $WHO
