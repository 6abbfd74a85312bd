# Six services of others that opened the device and do nothing with it; the recorded job lacks that.
. "$CASES/scenes/common.sh"
services=
for service in 1 2 3 4 5 6; do
    hold 0=0 --title "celery worker"
    services="$services $held"
done
# shellcheck disable=SC2086  # Several numbers.
tell $services
$RECORD "$job" 2000
