#!/usr/bin/env bash
# Every link of a document to a file of the project leads to one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

links=0 broken=0
for document in README.md docs/*.md docs/decisions/*.md bench/*.md; do
  while read -r target; do
    case $target in *://* | '#'*) continue ;; esac
    links=$((links + 1))
    if [[ ! -e $(dirname "$document")/${target%%#*} ]]; then
      echo "$document: there is no $target"
      broken=$((broken + 1))
    fi
  done < <(grep -oE '\]\([^) ]+\)' "$document" | sed -e 's/^](//' -e 's/)$//')
done
echo "$links links, $broken of them broken"
((broken == 0 && links >= 40))
