#!/bin/sh
# Stands for cargo: prints its variables in place of a build. What is asked before one, cargo answers.
if [ "$1" = metadata ]; then exec "$REAL_CARGO" "$@"; fi
exec env -0
