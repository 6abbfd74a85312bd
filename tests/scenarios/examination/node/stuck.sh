# A process in uninterruptible sleep keeps its memory; the next program fails.
"$PYTHON" "$CASES/node/held.py"
$RECORD "$PYTHON" "$CASES/node/wants.py" 1024
