#!/usr/bin/env bash
# Runs the tests that were built into PROGRAM, in four processes at once, as most of them wait for something most of
# their time. The lanes take about as long as each other; whatever target is named in none goes into the last one.
# LOGS keeps what each lane printed.
#
# usage: lanes.sh PROGRAM LOGS
set -u
program=$1 logs=$2
lanes=('^(TokenScriptRepoTests|CommandsTests)\.' '^(IntegrationTests|StorageTests|BusTests)\.' '^(ApptimistTests|MsgrTests)\.')
rest=$(IFS='|'; echo "${lanes[*]}")
mkdir -p "$logs"

pids=()
for lane in 0 1 2 3; do
  which=(--skip "$rest"); [ $lane = 3 ] || which=(--filter "${lanes[$lane]}")
  "$program" --testing-library swift-testing --no-parallel "${which[@]}" >"$logs/lane$lane.log" 2>&1 &
  pids+=($!)
done
status=0
for lane in 0 1 2 3; do
  wait "${pids[$lane]}" || status=1
done
# A failure is told once more below the thousands of lines in which it is lost, or the end of a lane that never came to count.
for lane in 0 1 2 3; do
  cat "$logs/lane$lane.log"
done
for lane in 0 1 2 3; do
  grep -a '^✘' "$logs/lane$lane.log" | grep -av '^✘ Test run with'
  grep -a '^[✔✘] Test run with' "$logs/lane$lane.log" || { tail -n 5 "$logs/lane$lane.log"; status=1; }
done
exit $status
