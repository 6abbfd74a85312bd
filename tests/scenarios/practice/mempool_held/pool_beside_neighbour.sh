# A neighbour has 512 MiB; the program's own pool keeps 1152 MiB that were freed. Either would do.
cc -o "$SCRATCH/decode" -I "$CASES/../recorder" "$CASES/mempool_held/frames_then_model.c" -ldl
hold 0=512 --title "python serve.py"
$RECORD "$SCRATCH/decode"
