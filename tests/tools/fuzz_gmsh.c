/* Any bytes at all, as a mesh of Gmsh: refused with a sentence, or read, and then all corners are
 * vertices. See tests/fuzz. */
#include "mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int condition)
{
  if (!condition) abort(); /* what both drivers notice */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  mesh m;
  mesh_error error;
  if (mesh_read_gmsh_memory(data, size, "fuzz", &m, &error)) {
    insist(m.at == NULL && m.corner == NULL && m.vertices == 0 && m.cells == 0);
    insist(strncmp(error.sentence, "fuzz:", 5) == 0 && strlen(error.sentence) > 10);
    insist(error.line >= 0 && !strchr(error.sentence, '\n'));
    return 0;
  }
  insist(m.vertices > 0 && m.cells > 0);
  for (int64_t i = 0; i < 3 * m.vertices; i++) insist(isfinite(m.at[i]));
  for (int64_t i = 0; i < 4 * m.cells; i++) insist(m.corner[i] >= 0 && m.corner[i] < m.vertices);
  mesh_free(&m);
  return 0;
}
