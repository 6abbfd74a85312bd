# An orphan holds most; a neighbour that somebody needs holds less. Without either the job would fit.
. "$CASES/scenes/common.sh"
hold 0=600 --title "python serve.py"
hold 0=2000 --orphan --title "VLLM::EngineCore"
tell "$held"
$RECORD "$job" 1200
carry_out "$job" 1200
