# The first thread of a process has ended, another lives on and with it the memory: ps shows a zombie.
hold 0=2600 --zombie-leader
"$PYTHON" "$CASES/node/held.py" "$held"
$RECORD "$HOLDER" 0=1024 </dev/null || carry_out "$HOLDER" 0=1024 </dev/null
