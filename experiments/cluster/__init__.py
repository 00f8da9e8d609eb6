"""GPUs of this machine together, or of others: candidates are judged by the workers of a Dask
cluster, each of which owns one device."""
