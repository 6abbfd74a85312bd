# A process waits in the kernel and holds what the job lacks. The lab's own fault takes a moment.
. "$CASES/scenes/common.sh"
sleep 0.3
tell
$RECORD "$job" 1500
