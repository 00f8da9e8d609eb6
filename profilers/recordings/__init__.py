"""What a device answered once: recorded, kept in T4 files, replayed."""
