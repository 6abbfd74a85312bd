# PyTorch in a container, somebody else's server outside it.
. "$CASES/scenes/common.sh"
hold 0=6200 --title "python serve.py"
tell "$held"
# shellcheck disable=SC2086  # Words.
unshare --pid --fork --mount-proc $RECORD "$PYTHON" "$CASES/unseen_holder/embed.py"
