"""Tasks on disk: folders, KernelBench problems and recordings, checked and made."""
