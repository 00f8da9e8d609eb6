"""Profiles of kernels, assembled from what the profiling tools collect."""
