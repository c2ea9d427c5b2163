/* The only file that may include every folder: a table of functions that lower folders need from
 * higher ones.
 */
#include "context/context.h"
#include "measure/measure.h"

const grove_services grove_library = {.measure = grove_measure_if_due};
