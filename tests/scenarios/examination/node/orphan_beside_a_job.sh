# A job that runs as it should, and beside it the larger remainder of one that was killed.
hold 0=400
job=$held
hold 0=2200 --orphan --title ray::RolloutWorker
"$PYTHON" "$CASES/node/held.py" "$held" --other "$job"
$WHO
