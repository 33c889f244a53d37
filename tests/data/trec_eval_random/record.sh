#!/bin/sh
# Record the outputs anew: record.sh TREC_EVAL, in this folder.
while read -r output arguments; do
    # shellcheck disable=SC2086
    "$1" $arguments > "$output"
done < cases.txt
