"""For each class of cheat the rule that it breaks, so that a refused variant can be mended."""

from __future__ import annotations

from mcts.domain import CheatClass

RULES: dict[CheatClass, str] = {
    "side_stream": "Work must be ordered on the caller's current stream: launch there, or join "
    "every other stream before returning.",
    "background_work": "Nothing may go on behind the call: no threads or processes that compute.",
    "lazy_output": "Outputs are plain tensors whose values are computed when forward returns.",
    "batched_calls": "Every call does its own work; none leaves it for another.",
    "pointer_cache": "An address says nothing of its content: nothing may be kept by address.",
    "content_cache": "Nothing computed from inputs may be kept from one call to the next.",
    "cached_weights": "Weights change in place: derive what you need from them in every call.",
    "stale_memory": "Memory holds what others left there: write everything that you read.",
    "reads_reference": "The result must be computed from the inputs, not looked for elsewhere.",
    "poisons_reference": "Nothing outside of your own outputs and scratch memory may be changed.",
    "patched_timer": "Clocks and events stay as they are.",
    "patched_harness": "PyTorch and Python stay as they are: patch no function, leave no mode on.",
    "forged_result": "Return the outputs and no more; whatever else is said of them is ignored.",
    "edited_grader": "Write to no file.",
    "phase_detection": "Every call does the same work, whoever makes it and whenever.",
    "sabotaged_sampling": "Do nothing that slows down what runs beside you.",
    "input_mutation": "Inputs stay as they are: write to tensors of your own.",
    "shrunk_task": "The task's sizes and inputs stay as they are.",
    "fallback": "The kernels of your own must do the work: no way around them to a library.",
    "wraps_reference": "The work must not be left to the reference or, where the policy forbids "
    "it, to libraries.",
    "precision_downgrade": "Compute in the precision that the task names: products and sums of "
    "fp32 in fp32.",
    "degenerate_task": "The output must depend on the inputs as the task says.",
    "skipped_work": "No part of the work may be left out because it happens not to matter here.",
    "hard_coded": "Nothing may be built upon particular values or sizes of the inputs.",
    "tolerance_abuse": "Every element must be computed, in the shape and dtype asked for.",
    "cache_persistence": "Leave the caches' settings alone.",
    "garbage": "Every output element must be written, by one thread or in a defined order.",
    "leak": "No network, no files, no environment.",
}
