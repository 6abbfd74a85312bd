# A group of the kernel's (a container, a job) that allows 200 MiB; the program wants 1 GiB of the host's.
cc -o "$SCRATCH/reads_dataset" -I "$CASES/../recorder" "$CASES/host_oom/reads_dataset.c" -ldl
if [ -d /sys/fs/cgroup/memory ]; then
    root=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
else
    root=/sys/fs/cgroup limit=memory.max
fi
group="$root/whyoom-practice-$$"
mkdir "$group"
echo 209715200 > "$group/$limit"
# shellcheck disable=SC2016,SC2086  # For the inner shell; words.
sh -c 'echo $$ > "$0/cgroup.procs"; exec "$@"' "$group" $RECORD "$SCRATCH/reads_dataset"
rmdir "$group"
