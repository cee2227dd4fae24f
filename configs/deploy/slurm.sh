#!/bin/bash
# __NAME__ as a Slurm job of __PROCESSES__ tasks. It is queued again where it was preempted or lost a task.
#
#   tpuest deploy __JOB__ --kind slurm --processes __PROCESSES__ >__NAME__.sh && sbatch __NAME__.sh
#
#SBATCH --job-name=__NAME__
#SBATCH --ntasks=__PROCESSES__
#SBATCH --cpus-per-task=__THREADS__
#SBATCH --requeue
#SBATCH --signal=TERM@__GRACE__
#SBATCH --open-mode=append
#SBATCH --output=__NAME__.log

# Drawn for this attempt; srun gives it to the tasks.
TPUEST_CLUSTER_TOKEN=$(head -c 32 /dev/urandom | base64)
export TPUEST_CLUSTER_TOKEN

srun --kill-on-bad-exit=1 tpuest __COMMAND__ __JOB__ --threads __THREADS__
code=$?

# 75: preempted, saved; 143: preempted before the first save; 7: a task was lost. The same script goes on.
if [[ $code == 75 || $code == 143 || $code == 7 ]]; then
  scontrol requeue "${SLURM_JOB_ID:?this is a batch script}"
fi
exit "$code"
