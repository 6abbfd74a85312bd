# Two notebook kernels that somebody left open hold what the job lacks; ending the larger is enough.
. "$CASES/scenes/common.sh"
hold 0=900 --title "ipykernel_launcher"
first=$held
hold 0=700 --title "ipykernel_launcher"
tell "$first" "$held"
$RECORD "$job" 1900
carry_out "$job" 1900
