#!/bin/sh
# Slurm's task epilog (slurm.conf: TaskEpilog=), run as the job's user after each task. It puts the first line of a
# verdict into the job's comment: `scontrol show job`; with AccountingStoreFlags=job_comment also `sacct -o Comment`.
# It takes the place of what `sbatch --comment` said. Epilog= would be too late: of a job that has finished, Slurm
# changes no comment.
PATH=$PATH:/usr/local/bin:/usr/bin:/bin

file=/var/spool/whyoom/$SLURM_JOB_ID
if [ -s "$file" ]; then
    # One line of plain letters, and not much of it.
    verdict=$(head -c 4096 "$file" | head -n 1 | LC_ALL=C tr -cd '[:print:]' | cut -c 1-200)
    # Once per node, whatever the number of tasks.
    : >"$file"
    if [ -n "$verdict" ]; then
        timeout 20 scontrol update JobId="$SLURM_JOB_ID" Comment="$verdict" >/dev/null 2>&1
    fi
fi
exit 0
