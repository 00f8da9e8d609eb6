"""A run's folder and its journal, whole after every kill; what is read back from them."""
