"""Comparisons with other methods. Not part of the installed package."""
