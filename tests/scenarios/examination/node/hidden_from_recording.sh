# A program in a container fails for what a process outside its PID namespace holds.
hold 0=2600
"$PYTHON" "$CASES/node/held.py" "$held"
unshare --pid --fork --mount-proc $RECORD "$PYTHON" "$CASES/node/wants.py" 1024
