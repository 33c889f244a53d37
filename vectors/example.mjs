// NDCG, recall and reciprocal rank as anyone may write them, for run.mjs.
const dcg = (gains) => gains.reduce((sum, gain, rank) => sum + gain / Math.log2(rank + 2), 0);

export function measure(metric, ranking, truth, k, options) {
  if (!["ndcg", "recall", "rr"].includes(metric)) return undefined;
  if (Object.keys(options.options ?? {}).length) return undefined;
  if ("ties" in options || "duplicates" in options) return undefined;
  const gains = Object.values(truth).filter((gain) => gain > 0).sort((a, b) => b - a);
  if (!gains.length) return null; // a user without relevant items has no value
  const last = k ?? Infinity;
  const found = ranking.slice(0, last).map(([item]) => Math.max(truth[item] ?? 0, 0));
  if (metric === "recall") return found.filter(Boolean).length / gains.length;
  const first = found.findIndex(Boolean);
  if (metric === "rr") return first < 0 ? 0 : 1 / (first + 1);
  return dcg(found) / dcg(gains.slice(0, last));
}
