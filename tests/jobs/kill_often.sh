#!/usr/bin/env bash
# kill_often.sh JOB OVERRIDE...: trains into run/, is killed (every other time: preempted) after so
# many lines of metrics.jsonl each time, and comes to its end all the same.
set -uo pipefail

# After each of these numbers of steps since the last start: about 500 in all.
steps=(1 9 17 3 28 12 5 31 22 2 14 7 40 1 11 19 6 33 4 16 25 8 2 13 37 10 21 3 15 29)
signals=(KILL TERM)

count() { [[ -e run/.tpuest/metrics.jsonl ]] && wc -l <run/.tpuest/metrics.jsonl || echo 0; }

for i in "${!steps[@]}"; do
  goal=$(($(count) + steps[i]))
  tpuest train "$@" -q &
  pid=$!
  until (($(count) >= goal)) || ! kill -0 $pid 2>/dev/null; do :; done
  kill -"${signals[i % 2]}" $pid 2>/dev/null
  wait $pid
  code=$?
  # 0: it had come to its end before.
  ((code == 137 || code == 75 || code == 0)) || { echo "kill $i: left with $code" && exit 1; }
done
tpuest train "$@" -q
