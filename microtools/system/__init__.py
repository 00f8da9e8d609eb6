"""Tools that read the timeline: launches, copies, waits."""
