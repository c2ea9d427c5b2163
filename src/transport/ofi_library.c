/* The library stays open until the process ends: some of its providers leave threads and handlers
 * of signals behind, which must not lose their code.
 */
#define _XOPEN_SOURCE 700 /* setenv */
#include "transport/ofi_library.h"

#ifdef GROVE_LIBFABRIC

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(name)   #name
#define SYMBOL_OF(name) {TEXT_OF(name), offsetof(grove_ofi_functions, name)},

static const struct {
  const char *name;
  size_t offset;
} symbols[] = {GROVE_OFI_FUNCTIONS(SYMBOL_OF)};

grove_ofi_functions grove_ofi;

/* The providers for TCP keep small messages in a buffer while a socket is full, and say that they
 * are sent. They leave only with the next poll, which may never come: who has sent everything waits
 * elsewhere. Without that buffer what is said to be sent is the kernel's. Users may say otherwise.
 */
static void send_what_is_told_sent(void)
{
  setenv("FI_TCP_STAGING_SBUF_SIZE", "0", 0);
  setenv("FI_NET_STAGING_SBUF_SIZE", "0", 0);
}

/* The one that the process has, or that the system finds, else the one it was built with. */
static grove_status find_functions(void)
{
  void *library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen(GROVE_LIBFABRIC_FOLDER "/libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  const char *said = library ? NULL : dlerror();
  GROVE_PASS_CHECK(library, GROVE_ERR_UNSUPPORTED, "libfabric cannot be opened: %s",
                   said ? said : "no libfabric.so.1");
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *symbol = dlsym(library, symbols[i].name);
    GROVE_PASS_CHECK(symbol, GROVE_ERR_UNSUPPORTED, "libfabric.so.1 has no %s", symbols[i].name);
    memcpy((char *)&grove_ofi + symbols[i].offset, &symbol, sizeof symbol);
  }
  return GROVE_OK;
}

grove_status grove_ofi_open(void)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static int is_tried, is_open;
  static char refusal[GROVE_SENTENCE_BYTES];
  pthread_mutex_lock(&mutex);
  if (!is_tried) {
    is_tried = 1;
    send_what_is_told_sent();
    is_open = find_functions() == GROVE_OK;
    if (!is_open) grove_copy_text(refusal, sizeof refusal, grove_last_error());
  }
  pthread_mutex_unlock(&mutex);
  return is_open ? GROVE_OK : grove_error_set(GROVE_ERR_UNSUPPORTED, refusal);
}

#else

grove_status grove_ofi_open(void)
{
  return grove_error(GROVE_ERR_UNSUPPORTED, __FILE__, __LINE__,
                     "this Grove was built without libfabric");
}

#endif
