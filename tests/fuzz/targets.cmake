# The fuzz targets, each with the folder of its seeds:
#
#   grove_fuzz(<module>/<file> SEEDS folder [SOURCES file...] [LIBRARIES library...])
#
# tests/<module>/<file>.c has LLVMFuzzerTestOneInput and the headers of its module.

grove_fuzz(model/fuzz_profile SEEDS ${PROJECT_SOURCE_DIR}/machines)
