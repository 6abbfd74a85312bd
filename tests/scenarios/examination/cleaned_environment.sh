# A job runner starts the training with an environment of its own, from before the recording, as
# schedulers and container runtimes do. True: the training dies for want of memory, unrecorded:
# the recording has only the runner, and nothing in it decides.
printf '%s\n' "$LD_PRELOAD" >"$SCRATCH/preload"
$RECORD sh -c 'LD_PRELOAD=$(cat "$0") exec "$1" "$2" --batch 6' "$SCRATCH/preload" "$PYTHON" \
    "$CASES/language_model_loss.py" >"$SCRATCH/output"
