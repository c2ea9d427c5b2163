# Two commands: `make demo` and `make test`. Each sets up all that it needs.
#
#   make demo MATRIX=file.mtx.gz      on a matrix of one's own
#   make build                        with Open MPI, in build/
#   make build MPI=mpich              with MPICH, in build-mpich/
#   make build MPICC=cc MPIEXEC=srun  with what a cluster's modules provide, in build/
#   make install PREFIX=/opt/grove [DESTDIR=...]
#   make test-all SAMPLES=all         everything, where `make test` takes samples
#   make test-more                    what test-all runs after the tests of `make test`
#   make gpu-test                     on a machine with a GPU: the tests of devices, with CUDA
#   make mutants                      half an hour: which small mistakes would the tests not notice?
#   make bench                        makes and saves every figure of bench/RESULTS.md: hours
#   make bench-pages                  writes its pages and pictures again, from the saved figures
#   make bench-quick                  the grid in 90 seconds, saves nothing
#   make bench-gpu                    on a machine with a GPU: the figures of device memory
#   make bench-scale                  every route between 256 to 2048 simulated ranks: long

BUILD ?= $(if $(filter mpich,$(MPI)),build-mpich,build)
PREFIX ?= /usr/local
export MPI MPICC MPIEXEC PREFIX SAMPLES SEED MATRIX REPORT

.PHONY: demo test test-all test-more gpu-test mutants build install bench bench-pages bench-quick bench-gpu bench-scale check-asan check-ubsan check-tsan check-valgrind check-fuzz lint format clean

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
	@tools/build $(BUILD)

install: build
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

bench:
	@tools/bootstrap --for bench
	@bench/run --save
	@bench/run --cores --save --no-build
	@bench/run --operations --save --no-build
	@bench/run --bundles --save --no-build
	@bench/run --overlap --save --no-build
	@bench/run --algebra --save --no-build
	@bench/run --routes --save --no-build
	@bench/run --mesh --save --no-build
	@bench/run --partitioned --save --no-build
	@bench/run --parts --save --no-build
	@bench/predictions --save
	@bench/scale/run --save
	@bench/run --age

bench-pages:
	@for study in '' --cores --operations --bundles --algebra --routes --mesh --partitioned --parts --gpu; do \
	  bench/run $$study --figures --save >/dev/null || exit 1; done
	@bench/scale/run --figures --save >/dev/null

bench-quick:
	@tools/bootstrap --for bench
	@bench/run --quick

bench-gpu:
	@bench/run --gpu --save

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
