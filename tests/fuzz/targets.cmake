# The fuzz targets, each with the folder of its seeds:
#
#   grove_fuzz(<module>/<file> SEEDS folder [SOURCES file...] [LIBRARIES library...])
#
# tests/<module>/<file>.c has LLVMFuzzerTestOneInput and the headers of its module.

grove_fuzz(model/fuzz_profile SEEDS ${PROJECT_SOURCE_DIR}/machines)
grove_fuzz(parts/fuzz_table SEEDS ${PROJECT_SOURCE_DIR}/tests/parts/tables)
grove_fuzz(tools/fuzz_matrix_market SEEDS ${PROJECT_SOURCE_DIR}/tests/tools/matrices
           LIBRARIES grove_matrix_market)
grove_fuzz(tools/fuzz_gmsh SEEDS ${PROJECT_SOURCE_DIR}/tests/tools/meshes LIBRARIES grove_mesh)
grove_fuzz(tools/fuzz_json SEEDS ${PROJECT_SOURCE_DIR}/tests/tools/reports LIBRARIES grove_json)
