# Asked inside a container: the holder lives in the PID namespace outside, and NVML drops its number.
hold 0=2600
"$PYTHON" "$CASES/node/held.py" "$held"
unshare --pid --fork --mount-proc $WHO
