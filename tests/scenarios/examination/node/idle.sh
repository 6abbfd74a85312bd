# Nothing runs: somebody looks because yesterday's job failed.
$WHO
