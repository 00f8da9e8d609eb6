"""Floor three: runs, reports and the command line; the only place that knows every room.

What runs: `cli` declares the commands and `commands` does what they say; `wiring` makes a run's
settings of what was asked for (`choosing`) and its parts of those (`composing`; `parts` has the
factories); `tasksets` reads tasks from disk, `tasks` are the bundled ones; `rundirs` keeps runs,
`memories` what they leave for later ones; `farm` measures on other machines.

What shows: `wording` and `pictures` in a terminal, `live` while it happens, `reporting` as a page,
`inspection` of what a profiler saw, `comparing_runs`, `deliverables` for users of a kernel.

What proves: `studies` sets searches against each other, `clinic` and `corpus` try the tools and the
judge, `suite` runs KernelBench, `evidence` has the measurements that the documents quote.
"""
