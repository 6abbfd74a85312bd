# A colleague's process runs on the same device, as another user.
hold 0=2600 --user 1001
"$PYTHON" "$CASES/node/held.py" "$held"
$RECORD "$HOLDER" 0=1024 </dev/null
