# Unit tests of the inside: included by tests/CMakeLists.txt. One rank is enough where nobody is
# sent anything.

grove_test(base/index_is_compact RANKS 1 INTERNAL)
grove_test(base/groups_by_key RANKS 1 INTERNAL)
grove_test(base/options_parse RANKS 1 INTERNAL)
grove_test(base/pause_expires RANKS 1 INTERNAL)
grove_test(base/segment_leaves_nothing RANKS 1 INTERNAL)

grove_test(topo/assigns_nodes RANKS 1 INTERNAL)

grove_test(pack/unit_is_dense RANKS 1 INTERNAL)
grove_test(pack/combine_kernels RANKS 1 INTERNAL)
grove_test(pack/pack_round_trip RANKS 1 INTERNAL)

grove_test(plan/is_plain_data RANKS 1 INTERNAL)

grove_test(route/standard RANKS 3 5 INTERNAL) # parts of the job have 1, 2 and 4 ranks
