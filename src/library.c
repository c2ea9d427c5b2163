/* What lower folders have done by higher ones, in one table: the only file that may include every
 * folder.
 */
#include "context/context.h"
#include "measure/measure.h"

const grove_services grove_library = {.measure = grove_measure_if_due};
