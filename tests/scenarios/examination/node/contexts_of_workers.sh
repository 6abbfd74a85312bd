# Eight data workers each touched CUDA: nothing but contexts, and no room left for the model.
all=
for worker in 1 2 3 4 5 6 7 8; do
    hold 0=0 --title pt_data_worker
    all="$all $held"
done
"$PYTHON" "$CASES/node/held.py" $all
$RECORD "$PYTHON" "$CASES/node/wants.py" 512
