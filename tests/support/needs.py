"""What some tests need of the machine they run on."""

from __future__ import annotations

import pytest

from experiments.runs.machines.machine import has_module

needs_litellm = pytest.mark.skipif(not has_module("litellm"), reason="litellm is not installed")
