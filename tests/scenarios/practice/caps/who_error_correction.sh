# Nobody is on the device; error correction takes a sixteenth of it.
$WHO
