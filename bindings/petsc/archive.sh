# shellcheck shell=bash
# Debian's archive, by apt-get with lists of its own in $work/apt-SUITE: nothing of the system is
# changed. What it fetches is signed as the system's packages are. To be sourced, with $work set.

# use_archive SUITE KIND: from here on "${apt[@]}" are arguments for apt-get and apt-cache, and
# their lists are up to date. KIND is deb or deb-src.
use_archive() {
  local folder=${work:?}/apt-$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg
  apt=(-qq -o Dir::State="$folder" -o Dir::State::status=/var/lib/dpkg/status
    -o Dir::Cache="$folder/cache" -o Dir::Etc::SourceList="$folder/sources.list"
    -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=)
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
  echo "$2 [signed-by=$keys] ${DEBIAN_MIRROR:-http://deb.debian.org/debian} $1 main" \
    >"$folder/sources.list"
  timeout 300 apt-get "${apt[@]}" update
}
