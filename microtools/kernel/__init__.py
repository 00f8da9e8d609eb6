"""Tools that read hardware counters of one kernel."""
