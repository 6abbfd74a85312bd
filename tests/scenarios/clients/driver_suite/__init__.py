"""Checks of the driver API, one module per family of functions."""
