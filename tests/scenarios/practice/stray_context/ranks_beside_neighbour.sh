# Three stray contexts on device 0 take 1254 MiB, a neighbour 618 MiB there. Without either it fits.
cc -g -o "$SCRATCH/ranks" -I "$CASES/../recorder" "$CASES/stray_context/ranks.c" -ldl
hold 0=200 --title "python serve.py"
$RECORD "$SCRATCH/ranks" 4
