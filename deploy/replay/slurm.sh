#!/bin/sh
# Replays a fleet's recordings as a Slurm array: each shard of the manifest is a task, and the sum comes last.
#
#   SBATCH_PARTITION=… sh slurm.sh ARCHIVE MANIFEST SHARDS [WORD…]
#
# Further words go to `whyoom-fleet replay`, as `--whyoom PATH`. Each node needs whyoom-fleet, whyoom and the recordings
# under the same paths. A task whose node dies is queued again; results that are there already are kept. The options of
# sbatch come from its variables (SBATCH_ACCOUNT, SBATCH_PARTITION, …). SHARDS is at most MaxArraySize - 1.
#
# It prints the number of the last job: `slurm-NUMBER.out` has the percentages, or says how many results are missing.
set -eu

# Slurm runs this script again, as a task of the array and as the sum.
case ${1-} in
--shard)
    shards=$2
    shift 2
    exec whyoom-fleet replay "$@" --shard "$SLURM_ARRAY_TASK_ID/$shards"
    ;;
--sum)
    shift
    exec whyoom-fleet replay "$@" --sum
    ;;
esac

if [ $# -lt 3 ]; then
    echo "usage: sh slurm.sh ARCHIVE MANIFEST SHARDS [WORD…]" >&2
    exit 2
fi
archive=$1 manifest=$2 shards=$3
shift 3
set -- "$archive" --manifest "$manifest" "$@"

array=$(sbatch --parsable --requeue --job-name=whyoom-replay --array="0-$((shards - 1))" "$0" --shard "$shards" "$@")
# After any end: where a task has failed, the sum says what is missing.
sbatch --parsable --job-name=whyoom-replay-sum --dependency="afterany:${array%%;*}" "$0" --sum "$@"
