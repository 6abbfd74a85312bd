# A neighbour holds 600 MiB and its context; an evaluation beside it collects its outputs on the GPU. True: the list
# is the larger of the two when memory runs out.
hold 0=600
$RECORD "$PYTHON" "$CASES/mixed/collect.py"
