#!/bin/sh
# Slurm's task prolog (slurm.conf: TaskProlog=), run as the job's user. Slurm puts what it prints into the task's
# environment: `whyoom run` writes the first lines of its verdict to this file, which prolog.sh has made.
file=/var/spool/whyoom/$SLURM_JOB_ID
if [ -w "$file" ]; then
    echo "export WHYOOM_TERMINATION_LOG=$file"
fi
exit 0
