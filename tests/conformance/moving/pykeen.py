import numpy as np
from pykeen.metrics.ranking import AdjustedArithmeticMeanRankIndex, HitsAtK, InverseHarmonicMeanRank

ranks, candidates = np.array([1.0, 3.0, 12.0]), np.array([100, 100, 80])
found = {
    "inverse_harmonic_mean_rank": InverseHarmonicMeanRank()(ranks),
    "hits_at_10": HitsAtK(10)(ranks),
    "adjusted_arithmetic_mean_rank_index": AdjustedArithmeticMeanRankIndex()(ranks, candidates),
}
