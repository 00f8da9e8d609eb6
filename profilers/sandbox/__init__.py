"""What stands between untrusted code and the machine: namespaces, Landlock, seccomp, limits.

`Jail` says what is wanted, `enter` takes a process in, `launch` does so from a command line,
`probe` tells what this machine can give, and `Held` is what came about. It is all Linux's own,
spoken through ctypes; whatever a machine does not offer is named and left out.
"""

from profilers.sandbox.held import Held
from profilers.sandbox.jail import Jail

__all__ = ["Held", "Jail"]
