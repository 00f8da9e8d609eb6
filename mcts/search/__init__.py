"""What to try next: searches as ask and tell over a tree, all equals.

Same proposer, same evaluator, same budget: only where the next proposal starts from differs.
`port` says what every search offers, `puct` is the tree search; what searches share is in
`trial_book` and `parent_search`.
"""

from mcts.search.annealing import Annealing, AnnealingSettings
from mcts.search.beam import Beam, BeamSettings
from mcts.search.best_of_n import BestOfN, BestOfNSettings
from mcts.search.evolution import Evolution, EvolutionSettings
from mcts.search.greedy import Greedy, GreedySettings
from mcts.search.port import AskTell, SearchSettings
from mcts.search.puct import Puct, PuctSettings

__all__ = [
    "Annealing",
    "AnnealingSettings",
    "AskTell",
    "Beam",
    "BeamSettings",
    "BestOfN",
    "BestOfNSettings",
    "Evolution",
    "EvolutionSettings",
    "Greedy",
    "GreedySettings",
    "Puct",
    "PuctSettings",
    "SearchSettings",
]
