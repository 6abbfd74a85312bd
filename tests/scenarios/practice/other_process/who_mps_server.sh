# The server of the multi-process service holds its clients' memory in its own name.
. "$CASES/scenes/common.sh"
ln -s "$HOLDER" "$SCRATCH/nvidia-cuda-mps-server"
hold_as "$SCRATCH/nvidia-cuda-mps-server" 0=4000
tell "$held"
$WHO
