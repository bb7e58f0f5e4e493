"""Measurements beside the peers. Not part of the installed package."""
