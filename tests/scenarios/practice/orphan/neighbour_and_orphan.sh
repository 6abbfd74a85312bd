# A neighbour holds most; a small orphan is there too. Without either the job would fit.
. "$CASES/scenes/common.sh"
hold 0=300 --orphan --title "python"
orphan=$held
hold 0=2400 --title "python serve.py"
tell "$held" "$orphan"
$RECORD "$job" 1000
carry_out "$job" 1000
