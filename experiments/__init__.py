"""Floor three: runs, reports and the command line; the only place that knows every room.

`cli` declares the commands and `commands` does what they say. `choosing` makes a run's settings of
what was asked for, `wiring` its parts of those (`parts` has the factories). `studies` sets searches
against each other; `reporting`, `deliverables`, `live` and `comparing_runs` show what came out.
`tasks` are the bundled ones.
"""
