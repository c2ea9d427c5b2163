/* The neighbourhood collectives that begin with MPI_I. */
#include "forms.h"

#define BEGINNING(FORM, name)                                                                      \
  GROVE_API int MPI_Ineighbor_##name(FORM##_PARAMETERS, MPI_Request *request)                      \
  {                                                                                                \
    int result;                                                                                    \
    grove_pre_held *h = grove_pre_settings_get()->requests ? grove_pre_neighbourhood(comm) : NULL; \
    if (!h) return PMPI_Ineighbor_##name(FORM##_ARGUMENTS, request);                               \
    grove_pre_side send = FORM##_SEND;                                                             \
    grove_pre_side receive = FORM##_RECEIVE;                                                       \
    grove_pre_inside++;                                                                            \
    grove_pre_way way = grove_pre_go(h, CALL_INEIGHBOR_##FORM, &send, &receive, request, &result); \
    grove_pre_inside--;                                                                            \
    if (way == GO_GROVE) return result;                                                            \
    double before = way == GO_MPI_TIMED ? PMPI_Wtime() : 0;                                        \
    result = PMPI_Ineighbor_##name(FORM##_ARGUMENTS, request);                                     \
    if (way == GO_MPI_TIMED) grove_pre_went(h, CALL_INEIGHBOR_##FORM, PMPI_Wtime() - before);      \
    return result;                                                                                 \
  }

GROVE_PRE_FORMS(BEGINNING)
