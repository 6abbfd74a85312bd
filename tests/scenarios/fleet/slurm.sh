#!/bin/sh
# A Slurm of one node. It has mounts of its own, so that the machine's folders stay as they are.
#
#   unshare --mount sh slurm.sh FOLDER
#
# Given in FOLDER: slurm.conf, gres.conf, and `bin`, what the node has in /usr/local/bin. Its /etc/whyoom is FOLDER/etc.
set -eu
folder=$1

mount --make-rprivate /
mkdir -p "$folder/etc" "$folder/layer" "$folder/state" "$folder/spool"
mount -t tmpfs none "$folder/layer"
mkdir -p "$folder/layer/upper/whyoom" "$folder/layer/work"
mount -t overlay none -o "lowerdir=/etc,upperdir=$folder/layer/upper,workdir=$folder/layer/work" /etc
mount --bind "$folder/etc" /etc/whyoom
mount --bind "$folder/bin" /usr/local/bin
mount -t tmpfs -o mode=755 none /var/spool

# Slurm counts the GPUs by their files.
mknod "$folder/nvidia0" c 195 0
mknod "$folder/nvidia1" c 195 1

(umask 077 && head -c 64 /dev/urandom >"$folder/munge.key")
munged --foreground --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munge.pid" \
    --log-file="$folder/munge.log" --seed-file="$folder/munge.seed" &
until [ -S "$folder/munge.socket" ]; do sleep 0.1; done
slurmctld -D -i -f "$folder/slurm.conf" -L "$folder/slurmctld.log" &
slurmd -D -f "$folder/slurm.conf" -L "$folder/slurmd.log" &
wait
