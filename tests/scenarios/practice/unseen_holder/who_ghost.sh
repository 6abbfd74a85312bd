# The driver lists a process that the kernel does not know.
sleep 0.3
$WHO
