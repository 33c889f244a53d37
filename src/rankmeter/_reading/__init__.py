"""Read rankings or truth of any form into one canonical Polars frame.

Three steps, each in one place:

1. A *form* (`forms`) recognizes the data and its reader hands over named `Columns`:
   `frames`, `containers` (with `values`), `files` (with `text`, `trec`,
   `json`, `parquet`).
   Containers of plain values and plain lines of TREC files are handed over as items `ByUser`
   (`by_user`), checked all at once: `PythonLists` (`lists`), or `Lines` (`lines`).
2. `columns` decides which column is the user, the item, the score, the rank, the gain.
3. `read` fetches these columns only, has `ids` and `numbers` check every value, and returns a
   `Table`; `unify_id_types` and `unify_all_id_types` bring the ids of tables to the same types.
   `doubts` warns where the sides look swapped or a threshold is missing.
   `keyed` reads what is known of some users or items: segments, clusters, selected users, with
   `items` categories and features.
   `per_user` reads values that were computed elsewhere.
   `opened` opens rankings that are not read as a whole: `pieces`, `chunks` of text, `spark`.
   `by_user` also has the order of ids, by which ties are decided.

A new input form needs one function and one row of `forms.FORMS`.
"""
