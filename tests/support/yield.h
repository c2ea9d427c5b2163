/* Makes the MPI of the tests yield while it waits. */
#ifndef TEST_YIELD_H
#define TEST_YIELD_H

/* Does nothing: calling it links the rest of its file into a program. */
void yield_in_mpi(void);

#endif
