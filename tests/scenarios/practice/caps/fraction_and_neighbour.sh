# A worker that gives itself a quarter of the device, beside a neighbour that leaves it room.
hold 0=100 --title "python serve.py"
$RECORD "$PYTHON" "$CASES/caps/quarter.py"
