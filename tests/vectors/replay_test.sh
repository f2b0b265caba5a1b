#!/bin/bash
# The program's exit codes, its last line, and paths under bazel run.
set -u
replay="$PWD/tests/vectors/replay"
data="$PWD/tests/vectors/data"
cd "$TEST_TMPDIR" || exit 1
failures=0

# expect CODE LAST_LINE ARGUMENTS...
expect() {
  local code="$1" last="$2" got
  shift 2
  "$replay" "$@" > out 2> err
  got=$?
  if [[ $got != "$code" || "$(tail -n 1 out)" != "$last" ]]; then
    echo "FAILED: replay $*: exit $got, last line '$(tail -n 1 out)'; wanted $code, '$last'"
    cat err
    failures=1
  fi
}

expect 0 "43 passed, 0 failed" "$data/cuda_visible_devices.jsonl"
expect 0 "18 passed, 0 failed" "$data/profile_units_yolov5.jsonl" \
  "$data/profile_units_ultralytics.jsonl"
sed '1s/"visible_ordinals": \[2, 1\]/"visible_ordinals": [1, 2]/' \
  "$data/cuda_visible_devices.jsonl" > wrong.jsonl
expect 1 "42 passed, 1 failed" wrong.jsonl
echo '{' > garbage.jsonl
expect 2 "0 passed, 0 failed" garbage.jsonl
expect 2 "42 passed, 1 failed" wrong.jsonl missing.jsonl
expect 2 ""

mkdir -p elsewhere
cd elsewhere || exit 1
BUILD_WORKING_DIRECTORY="$TEST_TMPDIR" expect 1 "42 passed, 1 failed" wrong.jsonl
exit "$failures"
