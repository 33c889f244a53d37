import torch
from torchmetrics.retrieval import RetrievalMAP, RetrievalNormalizedDCG

scores = torch.tensor([0.9, 0.8, 0.7, 0.6, 0.5])
target = torch.tensor([0, 1, 0, 0, 1])
queries = torch.tensor([0, 0, 0, 1, 1])
found = {
    "RetrievalMAP@2": RetrievalMAP(top_k=2)(scores, target, queries),
    "RetrievalNormalizedDCG@2": RetrievalNormalizedDCG(top_k=2)(scores, target, queries),
}
