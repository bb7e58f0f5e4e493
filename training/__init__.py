"""What makes the data files of the package: the curves of the finder."""
