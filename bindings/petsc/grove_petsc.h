/* PETSc's star forests over Grove: the SF type `grove`, for `-sf_type grove` and PetscSFSetType.
 *
 * A program that was not compiled for it loads the type by PETSc's own option:
 *
 *     mpirun -n 4 ./ex2 -dll_append /usr/local/lib/libgrove_petsc.so -sf_type grove
 *
 * One that is linked with it (-lgrove_petsc) calls this after PetscInitialize.
 */
#ifndef GROVE_PETSC_H
#define GROVE_PETSC_H

#include <petscsf.h>

#define PETSCSFGROVE "grove"

/* Makes the type known. To call it twice does no harm. Not collective. */
PETSC_EXTERN PetscErrorCode PetscSFRegister_Grove(void);

#endif
