# Five colleagues' notebooks share the device; none of them alone is the reason.
all=
for mebibytes in 1500 700 700 700 300; do
    hold 0=$mebibytes
    all="$all $held"
done
"$PYTHON" "$CASES/node/held.py" $all
$RECORD "$PYTHON" "$CASES/node/wants.py" 2048
