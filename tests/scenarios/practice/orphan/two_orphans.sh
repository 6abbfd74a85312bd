# Two workers outlived their launcher; together they hold what the job lacks.
. "$CASES/scenes/common.sh"
hold 0=800 --orphan --title "python -c from multiprocessing.spawn"
first=$held
hold 0=800 --orphan --title "python -c from multiprocessing.spawn"
tell "$first" "$held"
$RECORD "$job" 2600
carry_out "$job" 2600
