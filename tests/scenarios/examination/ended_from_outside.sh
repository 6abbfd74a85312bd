# A training is ended by a scheduler's SIGKILL in mid-run: exit status 137, as after the kernel's
# killing for memory. True: it took little of either memory; who killed it, a recording cannot see.
$RECORD "$PYTHON" "$CASES/ended_from_outside.py" "$SCRATCH/started" &
training=$!
while [ ! -s "$SCRATCH/started" ]; do sleep 0.1; done
kill -9 "$(cat "$SCRATCH/started")"
wait "$training"
