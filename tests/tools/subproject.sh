#!/usr/bin/env bash
# A project with Grove's source inside it, by add_subdirectory and by FetchContent: it builds,
# runs, and gets the library and nothing else: no tests, no flags, nothing to install.
#
#   BUILD   the build directory (build), which has the kernels        MPI   its MPI (openmpi)
set -euo pipefail

# shellcheck source=tests/tools/common.bash
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

# good COMMAND...: it must succeed.
good() {
  run "$@"
  ((status == 0)) || fail 'it failed'
}

mpicc=$(sed -nE 's/^GROVE_MPICC:[A-Z]*=//p' "$BUILD/CMakeCache.txt")
mkdir "$work/parent"
cp examples/halo.c examples/common.h examples/matrix.h "$work/parent"
cp examples/spmv.c "$work/parent"
# Grove has the same folder both times, and is compiled once.
cat >"$work/parent/CMakeLists.txt" <<'EOT'
cmake_minimum_required(VERSION 3.16)
project(parent LANGUAGES C)
enable_testing()
if(BY STREQUAL "FetchContent")
  include(FetchContent)
  FetchContent_Declare(grove SOURCE_DIR ${SOURCE} BINARY_DIR ${CMAKE_BINARY_DIR}/grove)
  FetchContent_MakeAvailable(grove)
else()
  add_subdirectory(${SOURCE} grove)
endif()
add_executable(halo halo.c)
target_link_libraries(halo PRIVATE grove::grove)
add_executable(spmv spmv.c)
target_link_libraries(spmv PRIVATE grove::grove grove::readers)
install(TARGETS halo)
EOT

# configures WAY [ARGUMENT...]: in a tree that both ways share.
configures() {
  good cmake -S "$work/parent" -B "$work/tree" -DBY="$1" -DSOURCE="$PWD" -DMPI_C_COMPILER="$mpicc" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DFETCHCONTENT_FULLY_DISCONNECTED=ON \
    -DGROVE_CUDA=OFF -DGROVE_KERNELS_OF="$BUILD" "${@:2}"
}

# builds WAY: without optimising, which is quick.
builds() {
  configures "$1" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0
  good cmake --build "$work/tree" -j 2
  for program in halo spmv; do
    good tools/launch 2 "$work/tree/$program"
    rm "$work/tree/$program"
  done
}

configures add_subdirectory
grep -qE '^CMAKE_BUILD_TYPE:[A-Z]*=$' "$work/tree/CMakeCache.txt" || fail 'there is a build type'
builds add_subdirectory
run find "$work/tree" -name libgrove.a -o -type f -path '*/bin/*'
[[ ! -s $work/out ]] || fail 'this was built, and nobody needs it'
run grep -A1 -F "$work/parent/halo.c" "$work/tree/compile_commands.json"
if grep -qE -- '-W|-fvis|-D_POSIX|-O[1-3]' "$work/out"; then fail 'its flags reach the parent'; fi
good ctest --test-dir "$work/tree" -N
has 'Total Tests: 0'

builds FetchContent
good cmake --build "$work/tree" # halo and spmv, which were removed
good cmake --install "$work/tree" --prefix "$work/installed"
[[ $(find "$work/installed" -type f) == "$work/installed/bin/halo" ]] ||
  fail 'Grove is installed, too'
echo 'a part of another project, by add_subdirectory and by FetchContent'
