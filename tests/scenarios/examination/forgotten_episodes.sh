# Somebody's notebook holds 700 MiB and a context; the agent shares the GPU with it.
hold 0=700 --title jupyter-kernel
$RECORD "$PYTHON" "$CASES/forgotten_episodes.py"
