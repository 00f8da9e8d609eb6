"""What a study measured, kept in its folder: nothing is measured twice, and all can be replayed."""
