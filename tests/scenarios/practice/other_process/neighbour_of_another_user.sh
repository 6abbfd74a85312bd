# Another user's server has most of the device; the recorded job would fit on it alone.
. "$CASES/scenes/common.sh"
hold 0=2400 --user 65534 --title "python serve.py --port 8000"
tell "$held"
$RECORD "$job" 1400
