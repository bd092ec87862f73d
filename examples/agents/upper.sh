#!/bin/sh
# A stdio agent in plain shell: turns text into capitals. Params and result are strings without quotes or backslashes.
#
# It speaks docs/executor-protocol.md: one JSON message per line. A shell has no JSON; sed takes the fields it needs.

field() { printf '%s\n' "$1" | sed -n "s/.*\"$2\":\"\\([^\"\\\\]*\\)\".*/\\1/p"; }

printf '{"type":"hello","protocol":1,"capabilities":["upper"]}\n'
while IFS= read -r line; do
  case $line in
    '{"type":"task",'*)
      task=$(field "$line" task)
      text=$(field "$line" params)
      result=$(printf '%s' "$text" | tr '[:lower:]' '[:upper:]')
      printf '{"type":"result","task":"%s","result":"%s"}\n' "$task" "$result"
      ;;
    '{"type":"shutdown"'*) exit 0 ;;
  esac
done
