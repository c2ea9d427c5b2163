#!/usr/bin/env bash
# Every link of a document to a file of the project leads to one; every document is in the index,
# and every decision in the list of decisions. What manual pages are told to name is public, and
# each names a function that goes with its own.
set -euo pipefail
export LC_ALL=C # a-z are small letters
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

# listed INDEX FILE...: each of these is linked from the index beside it.
listed() {
  local index=$1 file
  shift
  for file in "$@"; do
    if ! grep -qF "(${file##*/})" "$index"; then
      echo "$index: ${file##*/} is not in the list"
      broken=$((broken + 1))
    fi
  done
}

listed docs/README.md docs/[a-z]*.md
listed docs/decisions/README.md docs/decisions/0*.md
while read -r name; do
  if ! grep -q "^GROVE_API.* \**$name(" include/*.h; then
    echo "tools/man-pages: there is no $name"
    broken=$((broken + 1))
  fi
done < <(sed -n '/^TOGETHER/,/^)/p' tools/man-pages | grep -oE 'grove_[a-z_]+')
if command -v python3 >/dev/null; then
  pages=$(mktemp -d)
  trap 'rm -rf "$pages"' EXIT
  tools/man-pages include/*.h "$pages"
  for page in "$pages"/man3/*.3; do
    if [[ $(<"$page") != .so* && $(sed '1,/^\.SH SEE ALSO/d' "$page") != *'(3)'* ]]; then
      echo "tools/man-pages: the page ${page##*/} names no function that goes with it"
      broken=$((broken + 1))
    fi
  done
  grep -qx '\.so man3/grove_must_end\.3' "$pages/man3/GROVE_MUST.3"
fi
echo "$links links, $broken things missing"
((broken == 0 && links >= 40))
