"""What a run may be asked for: one frozen model per concern, in which every option is said once.

A field is the option: its type, default and bounds, and beside them an `Option` with its name and
its help. The command line, the configuration of a run, the requests to factories and the refusals
of what does not go together are all made from these models, or hold them.
"""

from mcts.options.judging import JudgingOptions
from mcts.options.limits import Limits
from mcts.options.model import ModelOptions
from mcts.options.option import AUTO, OFF, Need, Option, Options
from mcts.options.search import Algorithm, SearchOptions

__all__ = [
    "AUTO",
    "OFF",
    "Algorithm",
    "JudgingOptions",
    "Limits",
    "ModelOptions",
    "Need",
    "Option",
    "Options",
    "SearchOptions",
]
