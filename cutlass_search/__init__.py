"""Room of the search over a CUTLASS tree; nothing lives here yet."""
