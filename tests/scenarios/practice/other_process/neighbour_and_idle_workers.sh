# A large neighbour, and four workers that have a context and nothing else. The neighbour has more.
. "$CASES/scenes/common.sh"
workers=
for worker in 1 2 3 4; do
    hold 0=0 --title "gunicorn: worker"
    workers="$workers $held"
done
hold 0=2500 --title "python train.py"
# shellcheck disable=SC2086  # Several numbers.
tell "$held" $workers
$RECORD "$job" 2600
