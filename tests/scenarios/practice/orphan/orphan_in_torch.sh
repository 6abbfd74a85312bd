# A training that finds an orphan of the run before it on the device.
. "$CASES/scenes/common.sh"
hold 0=2300 --orphan --title "ray::TrainWorker"
tell "$held"
$RECORD "$PYTHON" "$CASES/orphan/train.py"
carry_out "$PYTHON" "$CASES/orphan/train.py"
