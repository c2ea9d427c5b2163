/* The ways in which an operation on a forest is used; modes know them by name. */
#include "part_method.h"

const bench_part_method bench_forest_end = {
  .name = "end", .about = "forests: grove_start when all is final", .is_forest = 1};
const bench_part_method bench_forest_start = {
  .name = "start", .about = "forests: grove_start", .is_forest = 1};
const bench_part_method bench_forest_parts = {
  .name = "parts", .about = "forests: grove_start_parts, then marks", .is_forest = 1};
const bench_part_method bench_forest_wait = {
  .name = "wait", .about = "rows: multiplied when all ghosts are there", .is_forest = 1};
const bench_part_method bench_forest_arrivals = {
  .name = "arrivals", .about = "rows: each when its ghosts are there", .is_forest = 1};
const bench_part_method bench_forest_work = {
  .name = "work", .about = "rows: those that need none of the late rank, alone", .is_forest = 1};
