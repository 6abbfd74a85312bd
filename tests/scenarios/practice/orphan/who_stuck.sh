# What the node looks like while one process waits in the kernel.
sleep 0.3
$WHO
