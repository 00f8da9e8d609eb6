"""``python -m tests.faults.on_paper WORDS``: rooftree with evaluators that need no GPU."""

import pytest

from experiments.cli import main
from tests.support import paper_gpu, suite_world

if __name__ == "__main__":
    paper_gpu.install(pytest.MonkeyPatch())
    suite_world.install()
    main()
