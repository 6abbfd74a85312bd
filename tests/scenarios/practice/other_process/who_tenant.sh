# Another user's training holds most of the device.
. "$CASES/scenes/common.sh"
hold 0=6144 --user 65534 --title "python train.py"
tell "$held"
$WHO
