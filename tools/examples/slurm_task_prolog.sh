#!/bin/sh
# Slurm's TaskProlog (slurm.conf: TaskProlog=/etc/slurm/autobatch_task_prolog.sh; for one step: srun
# --task-prolog): every task of a step gets its share as AUTOBATCH_* variables. Slurm starts no task
# whose TaskProlog fails; what it says on stderr is shown nowhere, so it is printed into the task's output.
#
# AUTOBATCH_LAUNCH   the launch program, if it is not in PATH
# AUTOBATCH_SOCKET   the agent's socket on this node

# Jobs without an agent are not touched.
[ -S "${AUTOBATCH_SOCKET:-}" ] || exit 0

why=$(mktemp) || exit 1
trap 'rm -f "$why"' EXIT
"${AUTOBATCH_LAUNCH:-launch}" --worker --format slurm-task-prolog 2>"$why"
code=$?
sed 's/^/print /' "$why"
exit "$code"
