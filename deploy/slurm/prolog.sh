#!/bin/sh
# Slurm's prolog (slurm.conf: Prolog=), run as root before a job: is anything left on the job's GPUs?
#
# WHYOOM_GATE=report   logs what is left; the job starts. The default.
# WHYOOM_GATE=refuse   ends with 1: Slurm drains the node and requeues the job, held; with
#                      SchedulerParameters=nohold_on_prolog_fail it starts elsewhere. Not where jobs share a GPU.
#
# Slurm passes no variables of the site's: set it in /etc/whyoom/gate.conf. Where it is unknown whether something is
# left, the job starts. Nothing is killed.

# Slurm sets no PATH.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

if [ -r /etc/whyoom/gate.conf ]; then
    # shellcheck source=/dev/null
    . /etc/whyoom/gate.conf
fi

# The job's file for the first lines of a verdict. The folder is root's, so that no user can put a link there.
folder=/var/spool/whyoom
install -d -m 0711 "$folder" &&
    install -m 0600 -o "$SLURM_JOB_UID" /dev/null "$folder/$SLURM_JOB_ID"

# A driver may hang.
line=$(timeout -k 5 20 whyoom who --gate 2>/dev/null)
case $? in
0) ;;
1)
    logger -t whyoom -p daemon.warning "before job $SLURM_JOB_ID: $line"
    if [ "${WHYOOM_GATE:-report}" = refuse ]; then
        rm -f "$folder/$SLURM_JOB_ID"
        exit 1
    fi
    ;;
*) logger -t whyoom -p daemon.notice "before job $SLURM_JOB_ID: unknown: ${line:-no answer}" ;;
esac
exit 0
