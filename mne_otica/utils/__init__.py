"""Checks of arguments, shared descriptions of parameters, and logging."""
