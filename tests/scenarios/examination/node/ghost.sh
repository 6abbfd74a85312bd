# The driver lists a number that no process has.
"$PYTHON" "$CASES/node/held.py"
$WHO
