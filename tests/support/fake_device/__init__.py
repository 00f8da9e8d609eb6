"""A device made of numpy and sleep, behind the same worker protocol as PyTorch's.

A problem defines ``Model`` (a `weight`, and a call on arrays), a candidate ``ModelNew``. What a
candidate hands to `device.defer` runs when the device is waited for, as on a stream of its own.
"""
