# Somebody's job fills the GPU but for a context and a little; then a notebook is started.
# The job holds 2,630 MiB and the context of an A100, 418 MiB.
hold 0=2630
printf '{"bytes": %s, "pid": %s}\n' $(((2630 + 418) * 1024 * 1024)) "$held"
$RECORD "$PYTHON" "$CASES/second_notebook.py"
