"""Rankings or truth in any form → one canonical Polars frame.

Three steps, each in one place:

1. A *form* (`_forms`) recognises the data and its reader hands over named `Columns`:
   `_frames`, `_spark`, `_arrays`, `_containers` (with `_values`), `_files` (with `_text`, `_trec`,
   `_json`, `_parquet`, `_bundles`).
   Containers of plain values and plain lines of TREC files are handed over as items `ByUser`
   (`_by_user`), checked all at once: `Lists` (`_lists`), or `Lines` (`_lines`) of `_spans`.
2. `_columns` decides which column is the user, the item, the score, the rank, the gain.
3. `_read` fetches these columns only, has `_ids` and `_numbers` check every value, and returns a
   `Table`; `unify_types` and `unify_all` bring the ids of tables to the same types.
   `_doubts` warns where the sides look swapped or a threshold is missing.
   `_keyed` reads what is known of some users or items: segments, clusters, selected users, with
   `_items` categories and features.
   `_per_user` reads values that were computed elsewhere.
   `_kind` gives what is handed out the kind of frame that came in.
   `_order` has the order of ids, by which ties are decided; `_series` makes series of arrays,
   `_id_columns` of ids, which stay in the form in which they came where no series is needed.

A new input form needs one function and one row of `_forms.FORMS`.
"""

from __future__ import annotations

from rankmeter._ingest._by_user import AnyRows, ByUser, InFrame
from rankmeter._ingest._collapse import Collapse, read_collapse
from rankmeter._ingest._doubts import label_caution, swap_caution, threshold_caution
from rankmeter._ingest._id_columns import Ids, IdSeries, Objects, as_ids, series
from rankmeter._ingest._items import Items, read_item_ids, read_item_numbers, read_items
from rankmeter._ingest._keyed import Keyed, fit_ids, in_one_type, read_labels, read_users
from rankmeter._ingest._kind import POLARS, Frame, Kind, to_pandas
from rankmeter._ingest._lines import Lines
from rankmeter._ingest._lists import CHANGED, Lists
from rankmeter._ingest._memory import PER_MEASURED_ROW, at_most, check_memory, size
from rankmeter._ingest._memory import available as available_memory
from rankmeter._ingest._opened import needed_memory, open_rankings
from rankmeter._ingest._order import places, places_of
from rankmeter._ingest._per_user import PerUser, read_per_user
from rankmeter._ingest._pieces import Cut, InPieces, InSpark, KeptRows, Pieces, Query, Rest
from rankmeter._ingest._queried import open_spark
from rankmeter._ingest._read import (
    Interactions,
    is_records,
    read_interactions,
    read_rankings,
    read_truth,
)
from rankmeter._ingest._spark import in_spark, is_spark, spark_session
from rankmeter._ingest._table import Origin, Table, no_judgments, unify_all, unify_types

__all__ = [
    "CHANGED",
    "PER_MEASURED_ROW",
    "POLARS",
    "AnyRows",
    "ByUser",
    "Collapse",
    "Cut",
    "Frame",
    "IdSeries",
    "Ids",
    "InFrame",
    "InPieces",
    "InSpark",
    "Interactions",
    "Items",
    "KeptRows",
    "Keyed",
    "Kind",
    "Lines",
    "Lists",
    "Objects",
    "Origin",
    "PerUser",
    "Pieces",
    "Query",
    "Rest",
    "Table",
    "as_ids",
    "at_most",
    "available_memory",
    "check_memory",
    "fit_ids",
    "in_one_type",
    "in_spark",
    "is_records",
    "is_spark",
    "label_caution",
    "needed_memory",
    "no_judgments",
    "open_rankings",
    "open_spark",
    "places",
    "places_of",
    "read_collapse",
    "read_interactions",
    "read_item_ids",
    "read_item_numbers",
    "read_items",
    "read_labels",
    "read_per_user",
    "read_rankings",
    "read_truth",
    "read_users",
    "series",
    "size",
    "spark_session",
    "swap_caution",
    "threshold_caution",
    "to_pandas",
    "unify_all",
    "unify_types",
]
