#!/bin/sh
# Prints its variables, whatever its arguments are.
exec env -0
