"""Floor three: runs, reports and the command line; the only place that knows every room.

`cli` declares the commands and their options, `app` does with a run what they say. `runs` holds
what a run is made of: options, tasks, folders, memory, and the wiring of its parts; `cluster`
measures on several GPUs, or other machines. `live` shows a run while it goes, `views` afterwards,
in a terminal (`text` has the words) and as a page; `deliverables` are for users of the kernel.
`inspect` reads a single kernel, program or report.

`benchmarks` proves: studies set searches against each other, the clinic and the corpus try the
tools and the judge, the suite runs KernelBench, and evidence holds what the documents quote.
`data` has the bundled tasks and templates.
"""
