#!/usr/bin/env bash
# finish_run.sh JOB: trains a run that was cut a little further, and another in one piece to the same
# step, and compares the bytes of their last checkpoints, which ones they have, and their losses.
set -euo pipefail
job=$1

saved=0
if [[ -e run/checkpoint ]]; then
  saved=$(sed -n '1s/.*model.ckpt-\([0-9]*\).*/\1/p' run/checkpoint)
fi
goal=$((saved + 30))
tpuest train "$job" max_steps=$goal
tpuest train "$job" max_steps=$goal --model-dir whole -q
cmp "run/model.ckpt-$goal.index" "whole/model.ckpt-$goal.index"
cmp "run/model.ckpt-$goal.data-00000-of-00001" "whole/model.ckpt-$goal.data-00000-of-00001"
cmp run/checkpoint whole/checkpoint
for run in run whole; do
  (cd $run && ls model.ckpt-*) >$run/names
  sed 's/,"examples_per_sec".*//' $run/.tpuest/metrics.jsonl >$run/losses
done
cmp run/losses whole/losses
cmp run/names whole/names
