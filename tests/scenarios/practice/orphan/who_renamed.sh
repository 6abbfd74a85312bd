# "grep python" finds nothing: the engine has renamed itself, and its parent has gone.
. "$CASES/scenes/common.sh"
hold 0=5000 --orphan --title "VLLM::EngineCor"
tell "$held"
$WHO
