# A trainer's first thread has ended, and ps shows a dead process; another thread lives on and holds.
. "$CASES/scenes/common.sh"
hold 0=2048 --zombie-leader --title "python"
tell "$held"
$RECORD "$job" 1500
carry_out "$job" 1500
