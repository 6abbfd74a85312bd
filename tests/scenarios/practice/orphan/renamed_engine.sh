# An engine survived the server that started it, under a name of its own; the next start finds no room.
. "$CASES/scenes/common.sh"
hold 0=2600 --orphan --title "VLLM::EngineCore"
tell "$held"
$RECORD "$job" 1200
carry_out "$job" 1200
