# What scenes share: sourced before each, inside the lab.
#
#   hold 0=2048 [--orphan] …   a process that holds memory until the scene ends; its number: $held
#   carry_out COMMAND…         the verdict's first line to paste is run, then the command again
#
# Given: WHYOOM, PYTHON, HOLDER, CASES, SCRATCH, RECORDING, VERDICT, and the words RECORD and WHO.

# Holders end when this pipe does, and so with the scene, whatever becomes of their parents.
mkfifo "$SCRATCH/alive"
exec 9<>"$SCRATCH/alive"

holders=0

hold() {
    hold_as "$HOLDER" "$@"
}

# The same under another name of the program.
hold_as() {
    holder=$1
    shift
    holders=$((holders + 1))
    ready="$SCRATCH/ready.$holders"
    mkfifo "$ready"
    "$holder" "$@" <"$SCRATCH/alive" >"$ready" 9<&- &
    # One line for each that holds: a crowd has many.
    lines=1
    for word; do
        [ "${previous-}" = --crowd ] && lines=$word
        previous=$word
    done
    exec 8<"$ready"
    while [ "$lines" -gt 0 ]; do
        read -r held <&8
        lines=$((lines - 1))
    done
    exec 8<&-
}

carry_out() {
    # Judged while the holders live: whyoom offers to end a process only then. The case is judged by this verdict.
    "$WHYOOM" why --json "$RECORDING" >"$VERDICT"
    line=$("$PYTHON" -c '
import json, sys
remedies = json.load(sys.stdin)["verdict"]["remedies"]
print(next(remedy["paste"] for remedy in remedies if remedy["paste"]))' <"$VERDICT")
    printf '{"line": "%s"}\n' "$line"
    # As it stands, by the command that is judged, in a terminal; what asks is told yes.
    printf 'y\n' | PATH="$(dirname "$WHYOOM"):$PATH" \
        script --quiet --return --command "$line" /dev/null 9<&- || return 1
    "$@" 9<&- && printf '{"worked": true}\n'
}
