# An orphan holds most of the device, another user's server a part.
. "$CASES/scenes/common.sh"
hold 0=2500 --user 65534 --title "python serve.py"
hold 0=4200 --orphan --title "python"
tell "$held"
$WHO
