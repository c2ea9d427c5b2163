# `make` and `make help` print what follows, up to the first empty line.
#
#   make demo                         installs what is missing, builds, measures, writes a page
#   make demo MATRIX=file.mtx.gz      on a matrix of one's own
#   make test                         installs what is missing, builds with two MPIs, runs the tests
#
#   make build                        the library and the command, with Open MPI, in build/
#   make build MPI=mpich              with MPICH, in build-mpich/
#   make build MPICC=cc MPIEXEC=srun  with what a cluster's modules provide, in build/
#   make examples                     the examples, in build/examples/
#   make install PREFIX=/opt/grove    [DESTDIR=...]; the default is /usr/local
#   make uninstall PREFIX=/opt/grove  [DESTDIR=...] removes what was installed there
#   make clean                        removes build/ and its relatives
#
#   make test-all SAMPLES=all         everything, where `make test` takes samples
#   make test-more                    what test-all runs after the tests of `make test`
#   make check-asan                   one checker; also check-ubsan, check-tsan, check-fuzz,
#                                     check-valgrind
#   make gpu-test                     on a machine with a GPU: the tests of devices, with CUDA
#   make lint                         rules that the source keeps; make format: its layout
#   make mutants                      half an hour: which small mistakes would the tests not notice?
#
#   make bench                        makes and saves every figure of bench/RESULTS.md: hours
#   make bench-pages                  writes its pages and pictures again, from the saved figures
#   make bench-quick                  the grid in 90 seconds, saves nothing
#   make bench-gpu                    on a machine with a GPU: the figures of device memory and paths
#   make bench-scale                  every route between 256 to 2048 simulated ranks: long

BUILD ?= $(if $(filter mpich,$(MPI)),build-mpich,build)
PREFIX ?= /usr/local
export MPI MPICC MPIEXEC PREFIX SAMPLES SEED MATRIX REPORT

.PHONY: help demo test test-all test-more gpu-test mutants build examples install uninstall bench bench-pages bench-quick bench-gpu bench-scale check-asan check-ubsan check-tsan check-valgrind check-fuzz lint format clean

help:
	@sed -n -e '1,2d' -e '/^$$/q' -e 's/^#   //p' -e 's/^#$$//p' Makefile

demo:
	@tools/bootstrap --for demo
	@TARGET=grove_command tools/build $(BUILD)
	@tools/demo $(BUILD)

test:
	@tools/bootstrap --for test
	@tools/run-tests quick

test-all:
	@tools/bootstrap --for all
	@tools/run-tests all

test-more:
	@tools/bootstrap --for all
	@tools/run-tests more

gpu-test:
	@tools/gpu-test

mutants:
	@tools/bootstrap --for test
	@tools/mutants

build:
	@PROGRESS=yes TARGET=grove_product tools/build $(BUILD)

examples:
	@PROGRESS=yes TARGET=grove_examples tools/build $(BUILD)

install: build
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

uninstall:
	@DESTDIR="$(DESTDIR)" tools/uninstall "$(PREFIX)"

bench:
	@tools/bootstrap --for bench
	@bench/run --save
	@bench/run --cores --save --no-build
	@bench/run --operations --save --no-build
	@bench/run --bundles --save --no-build
	@bench/run --latency --save --no-build
	@bench/run --overlap --save --no-build
	@bench/run --algebra --save --no-build
	@bench/run --routes --save --no-build
	@bench/run --fabric --save --no-build
	@bench/run --mesh --save --no-build
	@bench/run --partitioned --save --no-build
	@bench/run --partitioned --places ofi --mpi openmpi --save --no-build
	@bench/run --parts --save --no-build
	@bench/run --multipath --save
	@bench/predictions --save
	@bench/scale/run --save
	@bench/run --age

bench-pages:
	@for study in '' --cores --operations --bundles --latency --algebra --routes $(if $(wildcard bench/figures-fabric.txt),--fabric) --mesh --partitioned --parts --gpu --multipath; do \
	  bench/run $$study --figures --save >/dev/null || exit 1; done
	@bench/scale/run --figures --save >/dev/null

bench-quick:
	@tools/bootstrap --for bench
	@bench/run --quick

bench-gpu:
	@bench/run --gpu --save
	@bench/run --multipath --places gpu --save

bench-scale:
	@tools/bootstrap --for bench
	@bench/scale/run

check-asan: ; @tools/run-tests asan
check-ubsan: ; @tools/run-tests ubsan
check-tsan: ; @tools/run-tests tsan
check-fuzz: ; @tools/run-tests fuzz
check-valgrind: ; @tools/run-tests valgrind

lint:
	@tools/lint

format:
	@git ls-files -co --exclude-standard '*.c' '*.h' '*.inc' '*.cpp' '*.cu' | xargs clang-format -i

clean:
	rm -rf build build-*
