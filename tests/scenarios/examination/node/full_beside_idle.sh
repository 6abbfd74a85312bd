# The first device is full with another's work, the second one idle; the program takes the first.
hold 0=3200
"$PYTHON" "$CASES/node/held.py" "$held"
$RECORD "$PYTHON" "$CASES/node/wants.py" 1024
