"""A run as events: how they are written, and the record that is read back from them."""
