"""What stands between untrusted code and the machine: namespaces, Landlock, seccomp, limits.

`Jail` describes what is wanted, `enter` takes the current process in, `launch` runs a command in a
jail, and `JailReport` says which measures came into force. Everything is a Linux system call, made
through ctypes; what a machine does not offer is named and left out.
"""

from profilers.sandbox.jail import Jail
from profilers.sandbox.report import JailReport

__all__ = ["Jail", "JailReport"]
