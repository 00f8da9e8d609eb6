"""A CUTLASS tree as a full-text index: found, cut into chunks, weighed and kept."""
