"""Floor three: runs, reports and the command line; the only place that knows every room."""
