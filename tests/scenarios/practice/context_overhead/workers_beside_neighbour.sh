# Six workers' contexts take 2.4 GiB, a neighbour 0.8 GiB in all. Without either the model would fit.
cc -g -o "$SCRATCH/workers" -I "$CASES/../recorder" "$CASES/context_overhead/workers.c" -ldl
hold 0=400 --title "python serve.py"
$RECORD "$SCRATCH/workers" 6
