/* The neighbourhood collectives that end with _init. MPI 4 has them; Open MPI 4 has them with names
 * that begin with MPIX_, and gets those of MPI 4 here, which grove_mpi.h declares.
 */
#include "own_init.h"

#define SIDES_AND_GO(FORM)                                                                         \
  grove_pre_side send = FORM##_SEND;                                                               \
  grove_pre_side receive = FORM##_RECEIVE;                                                         \
  grove_pre_inside++;                                                                              \
  grove_pre_way way = grove_pre_go_init(h, CALL_INIT_##FORM, &send, &receive, request, &result);   \
  grove_pre_inside--

#define LASTING(FORM, name)                                                                        \
  GROVE_API int MPI_Neighbor_##name##_init(FORM##_PARAMETERS, MPI_Info info, MPI_Request *request) \
  {                                                                                                \
    int result;                                                                                    \
    grove_pre_held *h = grove_pre_settings_get()->inits ? grove_pre_neighbourhood(comm) : NULL;    \
    if (!h) return GROVE_PRE_OWN(name)(FORM##_ARGUMENTS, info, request);                           \
    SIDES_AND_GO(FORM);                                                                            \
    return way == GO_GROVE ? result : GROVE_PRE_OWN(name)(FORM##_ARGUMENTS, info, request);        \
  }

GROVE_PRE_FORMS(LASTING)

#ifdef GROVE_MPI_HAS_MPIX_INIT
#define OLD_NAME(FORM, name)                                                                       \
  GROVE_API int MPIX_Neighbor_##name##_init(FORM##_PARAMETERS, MPI_Info info,                      \
                                            MPI_Request *request)                                  \
  {                                                                                                \
    return MPI_Neighbor_##name##_init(FORM##_ARGUMENTS, info, request);                            \
  }

GROVE_PRE_FORMS(OLD_NAME)
#endif
