#!/usr/bin/env bash
# Runs the tests that were built into PROGRAM. Tests without servers and browsers run in parallel, which proves that they leave
# each other alone; the others wait most of their time, so that LANES (two for each processor) processes at once run part after
# part, the longest first. A test that no part names runs in the last. LOGS keeps what each part printed.
#
# usage: lanes.sh PROGRAM LOGS
set -u
program=$1 logs=$2
lanes=${LANES:-$((2 * $(nproc)))}

# Nothing but values, files and loopback sockets of their own.
alone='^(ApptimistProtocol|Budgets|Configuration|Cryptography|Ethereum|Formats|HTTPProtocol|Observability|Platform|Routing|WebApps|XMLSecurity)Tests\.'
parts=(
  '^IntegrationTests\.[O-Z]'
  '^MsgrTests\.[P-Z]'
  '^ApptimistTests\.WebApp'
  '^MsgrTests\.[A-O]'
  '^ApptimistTests\.[A-CE-I]'
  '^IntegrationTests\.[A-N]'
  '^ApptimistTests\.(Deliver|Node|Store|Shared)'
  '^TokenScriptRepoTests\.[A-M]'
  '^TokenScriptRepoTests\.[N-Z]'
  '^(WalletClientTests|PushServerTests)\.'
  '^(StorageTests|ClusterTests)\.'
  '^HTTPServerTests\.'
  '^ApptimistTests\.[J-MO-R]'
  '^(CommandsTests|HTTPClientTests|TransportTests)\.'
)
named=$(IFS='|'; echo "$alone|${parts[*]}")
mkdir -p "$logs"
rm -f "$logs"/part*

# Runs one part: its number, its name, and the options that choose its tests.
run_part() {
  local number=$1 name=$2 start=$SECONDS
  shift 2
  "$program" --testing-library swift-testing "$@" >"$logs/part$number.log" 2>&1
  echo $? >"$logs/part$number.status"
  printf '%4d s  %s\n' $((SECONDS - start)) "$name" >"$logs/part$number.time"
}

for part in "${!parts[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$lanes" ]; do wait -n; done
  run_part "$(printf %02d "$part")" "${parts[$part]}" --no-parallel --filter "${parts[$part]}" &
done
run_part rest "what no part names" --no-parallel --skip "$named" &
while [ "$(jobs -rp | wc -l)" -ge "$lanes" ]; do wait -n; done
run_part alone "in parallel" --filter "$alone" &
wait

# A failure is told once more below the thousands of lines in which it is lost, or the end of a part that never came to count.
status=0
cat "$logs"/part*.log
for log in "$logs"/part*.log; do
  grep -a '^✘' "$log" | grep -av '^✘ Test run with'
  grep -a '^[✔✘] Test run with' "$log" || tail -n 5 "$log"
  [ "$(cat "${log%.log}.status")" = 0 ] || status=1
done
sort -rn "$logs"/part*.time
exit $status
