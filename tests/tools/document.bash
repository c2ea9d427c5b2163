# For scripts that run what a document says, and look whether it says so; they source it.
# shellcheck shell=bash

# each_command DOCUMENT: for every `$ command` that stands indented in it, what follows goes into
# $work/expected, and then check COMMAND is called.
each_command() {
  local line command=
  : >"$work/expected"
  while IFS= read -r line || [[ $line ]]; do
    if [[ $line == '    '* ]]; then
      line=${line#    }
      if [[ $line != '$ '* ]]; then
        if [[ $command ]]; then echo "$line" >>"$work/expected"; fi
        continue
      fi
    fi
    if [[ $command ]]; then check "$command"; fi
    command=
    if [[ $line == '$ '* ]]; then command=${line#'$ '}; fi
    : >"$work/expected"
  done <"$1"
  if [[ $command ]]; then check "$command"; fi
}
