"""Other searches behind the same ask and tell, to compare the tree search with.

Same proposer, same evaluator, same budget: only where the next proposal starts from differs.
"""

from mcts.searches.annealing import Annealing, AnnealingSettings
from mcts.searches.beam import Beam, BeamSettings
from mcts.searches.best_of_n import BestOfN, BestOfNSettings
from mcts.searches.evolution import Evolution, EvolutionSettings
from mcts.searches.greedy import Greedy, GreedySettings
from mcts.searches.port import AnySettings, AskTell, SearchPlan, begin

__all__ = [
    "Annealing",
    "AnnealingSettings",
    "AnySettings",
    "AskTell",
    "Beam",
    "BeamSettings",
    "BestOfN",
    "BestOfNSettings",
    "Evolution",
    "EvolutionSettings",
    "Greedy",
    "GreedySettings",
    "SearchPlan",
    "begin",
]
