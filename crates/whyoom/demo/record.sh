#!/bin/sh
# Records the stories again: record.sh PYTHON [NAME ...], as root, with whyoom in PATH.
#
# PYTHON is a Python with PyTorch. The programs run in /home/you, in namespaces of their own: Python and
# its packages are at neutral paths and the boot has no id, so that the recordings have nothing of the
# machine that made them. Processes have numbers that hardly any machine uses: a verdict may say which
# one to end.
set -eu

python=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
export here

if [ "${RECORDS_IN_NAMESPACE:-}" = "" ]; then
    version=$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
    base=$("$python" -c 'import sys; print(sys.base_prefix)')
    packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    export RECORDS_IN_NAMESPACE=1 version base packages
    exec unshare --mount --pid --fork --mount-proc "$0" "$python" "$@"
fi

site=/home/you/venv/lib/$version/site-packages
mkdir -p /home/you/python "$site" /home/you/demo
mount --bind "$base" /home/you/python
mount --bind "$packages" "$site"
echo 00000000-0000-0000-0000-000000000000 >/home/you/boot_id
mount --bind /home/you/boot_id /proc/sys/kernel/random/boot_id
echo 4190000 >/proc/sys/kernel/ns_last_pid

# The story, and the command that runs in the lab.
record() {
    name=$1
    shift
    rm -rf "/home/you/demo/$name"
    mkdir "/home/you/demo/$name"
    cp "$here/$name"/*.py "/home/you/demo/$name"
    cd "/home/you/demo/$name"
    HOME=/home/you LD_LIBRARY_PATH=/home/you/python/lib PYTHONPATH="$site" PYTHONNOUSERSITE=1 \
        PATH="/home/you/python/bin:$PATH" TMPDIR=/home/you \
        whyoom lab run --gpu rtx-3060 --memory 4GiB -- "$@" || true
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --exclude=recording/keepers --format=ustar -cf - recording |
        gzip -9n >"$here/$name/recording.tar.gz"
    ls -l "$here/$name/recording.tar.gz"
}

NOTEBOOK='python notebook.py >ready & until [ -s ready ]; do sleep 0.1; done; "$@"; kill $!'

for name in ${*:-fragmented growing other-process too-large healthy}; do
    case $name in
        growing) record "$name" whyoom run --keepers -o recording -- python train.py ;;
        other-process)
            record "$name" sh -c "$NOTEBOOK" sh whyoom run -o recording -- python train.py
            ;;
        too-large) record "$name" whyoom run -o recording -- python train.py --batch 1024 ;;
        *) record "$name" whyoom run -o recording -- python train.py ;;
    esac
done
