# ps calls it defunct; its other threads live and hold memory.
. "$CASES/scenes/common.sh"
hold 0=3000 --zombie-leader
tell "$held"
$WHO
