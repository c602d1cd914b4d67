#!/bin/sh
# scenario.sh URL < scenario.txt: each answer, after its status.
set -eu
while read -r name body; do
    printf '%s' "$body" | curl --silent --show-error --data-binary @- \
        --header 'Content-Type: application/json' \
        --output answer.$$ --write-out '%{http_code}\n' "$1/test/v1/$name"
    cat answer.$$
done
rm -f answer.$$
