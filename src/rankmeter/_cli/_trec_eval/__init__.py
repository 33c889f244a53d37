"""What trec_eval 10 prints, byte for byte: its measures, parameters, averages and formats.

Every value comes from a metric of rankmeter, except those of preferences (`_prefs`). Specific to
trec_eval are: how it reads its files (`_files`), how it looks at topics (`_topics`), which metric
on which of these views a measure is (`_measures`), and how measures are averaged and printed
(`_report`).

Differences, all of them where the output of trec_eval would be wrong or useless:

1. Input that it silently misreads is an error: scores, grades, levels and z-scores that are not
   numbers, equal judgments that occur twice, parameters for a measure that takes none, a level of
   relevance or preference below 0.
2. Gains that differ by less than 1 are ordered by their values (it compares integers, and may
   print an NDCG of 0), the levels of ``11pt_avg`` may come in any order, and ``dcg`` may have other
   gains than ``ndcg``.
3. Preferences of a group that contradict each other are found before anything is printed.
4. The status of any failure is that of `rankmeter`. As in trec_eval 10, a judged topic without
   results is a failure, unless missing topics count; topics without judgments are ignored.
"""
