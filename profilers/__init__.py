"""Is a candidate right, how fast is it, and what did the hardware do?

The parent side (`gpu`, `compiler`, `cases`) judges; the child side (`worker`, `compile_worker`,
`ncu_target`) does everything that a candidate could crash, hang or corrupt. What passes between
them are JSON frames (`protocol`) and files in a private folder.
"""
