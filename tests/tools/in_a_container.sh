#!/usr/bin/env bash
# Grove where a container gives it little: without the right to trace processes, with a /dev/shm of
# 64 MiB, with one that is full, and with one that cannot be written. A mount namespace gives us a
# /dev/shm of our own; where none is to be had, what needs one is skipped.
#
#   BUILD   the build directory (build)        MPI   its MPI (openmpi)
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export BUILD=${BUILD:-build}
for name in ${!GROVE_@}; do unset "$name"; done

fail() {
  echo "FAIL: $*"
  exit 1
}

# works RANKS COMMAND...: runs it, shows what it says only when it fails.
works() {
  local ranks=$1 log
  shift
  log=$(tools/launch "$ranks" "$@" 2>&1) || {
    echo "$log"
    fail "$where: $* with $ranks ranks"
  }
}

# The whole of Grove: the table of ranks and nodes (which lives in shared memory if it can), graphs,
# exchanges and the command; and that no segment of Grove's is left.
try_grove() {
  works 5 "$BUILD/tests/context/nodes"
  SAMPLES=3 works 4 "$BUILD/tests/exec/matches_oracle"
  works 2 "$BUILD/bin/grove" bench random --size 100 --batch 1 --reduce
  if compgen -G '/dev/shm/grove*' >/dev/null; then fail "$where: $(ls /dev/shm) is left"; fi
  echo "ok: $where"
}

# --- in the namespace ---

small_shm() {
  where='a /dev/shm of 64 MiB'
  mount -t tmpfs -o size=64m none /dev/shm
  try_grove
}

# MPI itself must do without: TCP over the loopback in Open MPI; System V memory in MPICH, which
# must not think that ranks share a host (4.0.2 dies in MPI_Init if they do and /dev/shm is full).
spare_shm() {
  export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo
  export UCX_TLS=sysv,self MPIR_CVAR_NOLOCAL=1
}

full_shm() {
  where='a full /dev/shm'
  mount -t tmpfs -o size=64k none /dev/shm
  head -c 100000 /dev/zero >/dev/shm/filler 2>/dev/null || true
  if (echo x >/dev/shm/more) 2>/dev/null; then fail '/dev/shm has room left'; fi
  rm -f /dev/shm/more
  spare_shm
  try_grove
}

# Filled by the program itself once MPI has what it needs: the ranks do know that they share a host.
filled_shm() {
  where='a /dev/shm that fills up after MPI_Init'
  mount -t tmpfs -o size=64m none /dev/shm
  spare_shm
  unset MPIR_CVAR_NOLOCAL
  works 4 "$work/fills_up"
  if compgen -G '/dev/shm/grove*' >/dev/null; then fail "$where: $(ls /dev/shm) is left"; fi
  echo "ok: $where"
}

locked_shm() {
  where='a /dev/shm that cannot be written'
  mount -t tmpfs -o ro none /dev/shm
  spare_shm
  try_grove
}

case ${1-} in
  small_shm | full_shm | filled_shm | locked_shm) "$1" && exit 0 ;;
esac

# --- without ptrace: a filter on system calls, as container runtimes set it ---

export work
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/untraced.c" <<'EOF'
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#define REFUSE(call) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
int main(int argc, char **argv)
{
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    REFUSE(__NR_process_vm_readv),
    REFUSE(__NR_process_vm_writev),
    REFUSE(__NR_ptrace),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  char a = 1, b = 2;
  struct iovec from = {&a, 1}, to = {&b, 1};
  if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 77;
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != -1) return 1;
  execvp(argv[1], argv + 1);
  return 127;
}
EOF
skipped=
cc=$(command -v cc || command -v gcc || command -v clang || true)
if [[ $cc ]] && "$cc" "$work/untraced.c" -o "$work/untraced" 2>"$work/log" &&
  "$work/untraced" true; then
  where='no right to trace'
  # Around the launcher, so that it holds for the ranks.
  for command in "2 $BUILD/bin/grove bench random --size 100000 --batch 1" \
    "4 $BUILD/tests/exec/matches_oracle"; do
    # shellcheck disable=SC2086 # its words
    SAMPLES=3 "$work/untraced" tools/launch $command >"$work/log" 2>&1 || {
      cat "$work/log"
      fail "$where: $command"
    }
  done
  echo "ok: $where"
else
  skipped='system calls cannot be refused here'
fi

# --- the namespaces ---

cat >"$work/fills_up.c" <<'EOF'
#include <grove.h>
#include <stdio.h>
#include <stdlib.h>
#define CHECK(x) if (!(x)) fprintf(stderr, "rank %d: not so: %s (%s)\n", rank, #x, \
                                   grove_last_error()), MPI_Abort(MPI_COMM_WORLD, 1)
int main(int argc, char **argv)
{
  static char page[4096];
  grove_context *ctx = NULL;
  grove_forest *f = NULL;
  int rank, size, *all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    FILE *filler = fopen("/dev/shm/filler", "w");
    CHECK(filler != NULL && setvbuf(filler, NULL, _IONBF, 0) == 0);
    while (fwrite(page, 1, sizeof page, filler) == sizeof page) {
    }
    fclose(filler);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  all = calloc((size_t)size, sizeof *all);
  CHECK(grove_context_create(MPI_COMM_WORLD, &ctx) == GROVE_OK);
  CHECK(grove_context_set(ctx, "node_size", "2") == GROVE_OK);
  for (int i = 0; i < size; i++) {
    int node = -1, nnodes = 0;
    CHECK(grove_context_node(ctx, i, &node, &nnodes) == GROVE_OK);
    CHECK(node == i / 2 && nnodes == (size + 1) / 2);
  }
  CHECK(grove_forest_create(ctx, &f) == GROVE_OK);
  CHECK(grove_forest_set_pattern(f, GROVE_ALLGATHER, 1) == GROVE_OK);
  CHECK(grove_forest_set_up(f) == GROVE_OK);
  CHECK(grove_bcast(f, MPI_INT, &rank, all, MPI_REPLACE) == GROVE_OK);
  for (int i = 0; i < size; i++) CHECK(all[i] == i);
  CHECK(grove_forest_free(&f) == GROVE_OK);
  CHECK(grove_context_free(&ctx) == GROVE_OK);
  free(all);
  MPI_Finalize();
  return 0;
}
EOF
# cached NAME: what CMake knows by this name.
cached() {
  sed -nE "s/^$1:[A-Z]*=//p" "$BUILD/CMakeCache.txt"
}
sanitize=$(cached GROVE_SANITIZE)
"$(cached GROVE_MPICC)" ${sanitize:+"-fsanitize=$sanitize"} -Iinclude "$work/fills_up.c" \
  "$BUILD/lib/libgrove.a" -lhwloc -lrt -lm -o "$work/fills_up"

space=(unshare --mount)
if ! "${space[@]}" mount -t tmpfs none /dev/shm 2>/dev/null; then
  space=(unshare --user --map-root-user --mount)
fi
export TMPDIR=$work # Open MPI's own folder in /tmp may belong to the real root
if "${space[@]}" mount -t tmpfs none /dev/shm 2>/dev/null; then
  for machine in small_shm full_shm filled_shm locked_shm; do "${space[@]}" "$0" $machine; done
else
  skipped='no mount namespace is to be had'
fi

if [[ $skipped ]]; then
  echo "SKIP: $skipped"
  exit 77
fi
