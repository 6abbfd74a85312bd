# A server's engine process outlives its server under another name; the next model does not fit.
hold 0=2600 --orphan --title VLLM::EngineCore
"$PYTHON" "$CASES/node/held.py" "$held"
$RECORD "$PYTHON" "$CASES/node/wants.py" 1024 || carry_out "$PYTHON" "$CASES/node/wants.py" 1024
