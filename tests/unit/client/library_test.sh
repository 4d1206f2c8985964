#!/bin/bash
# libforebay.so shows forebay_* alone, needs libc alone, and no glibc newer than 2.34.
set -euo pipefail
library=$1

symbols=$(objdump -T "$library")
shown=$(awk '$0 !~ /UND/ && $0 ~ /FOREBAY_1/ {print $NF}' <<<"$symbols" |
  grep -v '^FOREBAY_1$')
[[ $(wc -l <<<"$shown") -gt 25 ]]
if grep -v '^forebay_' <<<"$shown"; then
  echo "the symbols above should be hidden" >&2
  exit 1
fi

needed=$(objdump -p "$library" | awk '/NEEDED/ {print $2}')
if grep -vE '^(libc\.so\.6|libm\.so\.6|ld-linux.*)$' <<<"$needed"; then
  echo "the libraries above should not be needed" >&2
  exit 1
fi

newest=$(grep -o 'GLIBC_2\.[0-9.]*' <<<"$symbols" | sort -V | tail -1)
if [[ $(printf '%s\nGLIBC_2.34\n' "$newest" | sort -V | tail -1) != GLIBC_2.34 ]]; then
  grep -F "$newest" <<<"$symbols" >&2
  exit 1
fi
