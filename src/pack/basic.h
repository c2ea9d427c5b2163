/* The named MPI types, by what arithmetic means on them. MPI has some sixty names for two dozen C
 * types. A kernel cares only about kind and size, so a Fortran INTEGER and an int32_t run the same
 * code.
 */
#ifndef GROVE_PACK_BASIC_H
#define GROVE_PACK_BASIC_H

#include "base/status.h"
#include "pack/kind.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a type that is not made of others. `combiner` is what MPI_Type_get_envelope says of
 * it: MPI_COMBINER_NAMED, or one of Fortran's parametrised types. */
grove_kind grove_basic_kind(MPI_Datatype type, int combiner);

/* How a type was made: an MPI_COMBINER_ constant. */
grove_status grove_basic_combiner(MPI_Datatype type, int *combiner);

/* Is this the combiner of a Fortran parametrised type? Those are predefined like named ones. */
int grove_basic_is_parametrised(int combiner);

#ifdef __cplusplus
}
#endif

#endif
