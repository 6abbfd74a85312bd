# What several scenes use: `job`, a program that wants memory, and `tell`, what processes hold.
job="$SCRATCH/job"
cc -g -o "$job" -I "$CASES/../recorder" "$CASES/scenes/job.c" -ldl

tell() { "$PYTHON" "$CASES/scenes/held_by.py" "$@"; }
