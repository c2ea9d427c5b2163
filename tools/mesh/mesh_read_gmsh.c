/* Gmsh's format 2 consists of sections, $Name to $EndName, of which three matter:
 *
 *     $MeshFormat       $Nodes             $Elements
 *     2.2 0 8           5                  2
 *     $EndMeshFormat    1 0.0 0.0 0.0      1 4 2 1 1 1 2 3 4
 *                       ...                2 4 2 1 1 2 3 4 5
 *                       $EndNodes          $EndElements
 *
 * A node is a number and three coordinates; the numbers come in any order, with gaps. An element is
 * a number, a type (4: a tetrahedron), the number of its tags, the tags, and its nodes.
 */
#include "lines.h"
#include "mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 40, POINT = 15, LINE = 1, TRIANGLE = 2, TETRAHEDRON = 4 };

typedef struct node {
  int64_t number, vertex; /* in the file, and here */
} node;

typedef struct reader {
  lines text;
  node *node; /* sorted by number, once all are read */
  int64_t node_room, cell_room;
  int has_nodes, has_elements;
  mesh m;
} reader;

/* ---- lines and words ---- */

/* A line that is not blank. 1: there is one; 0: there is none; -1: a failure, recorded. */
static int next_line(reader *r, cursor *c)
{
  for (;;) {
    int got = lines_next(&r->text, c);
    if (got <= 0) return got;
    if (!at_end(c)) return 1;
  }
}

static int line_of(reader *r, cursor *c, const char *section)
{
  int got = next_line(r, c);
  if (got == 0) lines_fail(&r->text, "the file ends in the middle of %s", section);
  return got <= 0;
}

/* Takes the word if it is the next one. */
static int take_word(cursor *c, const char *word)
{
  size_t n = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return 0;
  if (c->at + n < c->end && !is_blank(c->at[n])) return 0;
  c->at += n;
  return 1;
}

/* The number of lines in the section. */
static int read_count(reader *r, const char *section, int64_t *out)
{
  cursor c;
  if (line_of(r, &c, section)) return 1;
  if (cursor_count(&c, out))
    return lines_fail_expected(&r->text, &c, "the number of lines that follow");
  return lines_expect_end(&r->text, &c);
}

/* `end` is the line that closes the section. */
static int read_end(reader *r, const char *section, const char *end)
{
  cursor c;
  if (line_of(r, &c, section)) return 1;
  if (!take_word(&c, end)) return lines_fail_expected(&r->text, &c, end);
  return lines_expect_end(&r->text, &c);
}

/* ---- the format ---- */

static int read_format(reader *r)
{
  cursor c;
  double version;
  int64_t binary;
  int got = next_line(r, &c);
  if (got < 0) return 1;
  if (got == 0) return lines_fail(&r->text, "is empty, and not a mesh");
  if (!take_word(&c, "$MeshFormat"))
    return lines_fail(&r->text, "this is not a mesh of Gmsh: it does not begin with $MeshFormat");
  if (line_of(r, &c, "$MeshFormat")) return 1;
  if (cursor_real(&c, &version))
    return lines_fail_expected(&r->text, &c, "the version of the format");
  if (!(version >= 2 && version < 3))
    return lines_fail(&r->text, "this is version %g of the format; 2.0 to 2.2 are read", version);
  if (cursor_count(&c, &binary))
    return lines_fail_expected(&r->text, &c, "0, for a file that is text,");
  if (binary != 0) return lines_fail(&r->text, "this file is binary; those that are text are read");
  return read_end(r, "$MeshFormat", "$EndMeshFormat");
}

/* ---- nodes ---- */

static int grow_nodes(reader *r)
{
  int64_t room = r->node_room > 0 ? 2 * r->node_room : 1024;
  double *at = lines_grow(&r->text, r->m.at, room, 3 * sizeof *at);
  if (at) r->m.at = at;
  node *nodes = at ? lines_grow(&r->text, r->node, room, sizeof *nodes) : NULL;
  if (!nodes) return 1;
  r->node = nodes;
  r->node_room = room;
  return 0;
}

static int read_node(reader *r, cursor *c, int64_t promised)
{
  int64_t v = r->m.vertices;
  char what[80];
  if (v == r->node_room && grow_nodes(r)) return 1;
  if (cursor_count(c, &r->node[v].number)) {
    snprintf(what, sizeof what, "the number of node %lld of %lld", (long long)v + 1,
             (long long)promised);
    return lines_fail_expected(&r->text, c, what);
  }
  r->node[v].vertex = v;
  for (int k = 0; k < 3; k++) {
    cursor before = *c;
    if (cursor_real(c, &r->m.at[3 * v + k]) || !isfinite(r->m.at[3 * v + k]))
      return lines_fail_expected(&r->text, &before, "a coordinate");
  }
  r->m.vertices++;
  return lines_expect_end(&r->text, c);
}

static int by_number(const void *a, const void *b)
{
  const node *x = a, *y = b;
  return (x->number > y->number) - (x->number < y->number);
}

static int read_nodes(reader *r)
{
  int64_t promised;
  cursor c;
  if (r->has_nodes++) return lines_fail(&r->text, "there are $Nodes for the second time");
  if (read_count(r, "$Nodes", &promised)) return 1;
  if (promised == 0) return lines_fail(&r->text, "a mesh has nodes, and this one has none");
  while (r->m.vertices < promised)
    if (line_of(r, &c, "$Nodes") || read_node(r, &c, promised)) return 1;
  if (read_end(r, "$Nodes", "$EndNodes")) return 1;
  qsort(r->node, (size_t)promised, sizeof *r->node, by_number);
  for (int64_t i = 1; i < promised; i++)
    if (r->node[i - 1].number == r->node[i].number)
      return lines_fail(&r->text, "two nodes have number %lld", (long long)r->node[i].number);
  return 0;
}

/* ---- elements ---- */

static int read_corner(reader *r, cursor *c, int64_t *out)
{
  node wanted = {0};
  cursor before = *c;
  if (cursor_count(c, &wanted.number))
    return lines_fail_expected(&r->text, &before, "the number of a node");
  int64_t guess = wanted.number - 1; /* most files number them from 1 */
  const node *found =
    guess >= 0 && guess < r->m.vertices && r->node[guess].number == wanted.number
      ? &r->node[guess]
      : bsearch(&wanted, r->node, (size_t)r->m.vertices, sizeof *r->node, by_number);
  if (!found) return lines_fail(&r->text, "there is no node %lld", (long long)wanted.number);
  *out = found->vertex;
  return 0;
}

static int grow_cells(reader *r)
{
  int64_t room = r->cell_room > 0 ? 2 * r->cell_room : 1024;
  int64_t *corner = lines_grow(&r->text, r->m.corner, room, 4 * sizeof *corner);
  if (!corner) return 1;
  r->m.corner = corner;
  r->cell_room = room;
  return 0;
}

static int read_cell(reader *r, cursor *c)
{
  if (r->m.cells == r->cell_room && grow_cells(r)) return 1;
  int64_t *corner = r->m.corner + 4 * r->m.cells;
  for (int i = 0; i < 4; i++) {
    if (read_corner(r, c, &corner[i])) return 1;
    for (int k = 0; k < i; k++)
      if (corner[k] == corner[i]) return lines_fail(&r->text, "the tetrahedron has one node twice");
  }
  r->m.cells++;
  return lines_expect_end(&r->text, c);
}

static int read_element(reader *r, cursor *c, int64_t done, int64_t promised)
{
  int64_t number, type, tags;
  double tag;
  char what[80];
  if (cursor_count(c, &number)) {
    snprintf(what, sizeof what, "the number of element %lld of %lld", (long long)done + 1,
             (long long)promised);
    return lines_fail_expected(&r->text, c, what);
  }
  if (cursor_count(c, &type)) return lines_fail_expected(&r->text, c, "the type of the element");
  if (type == POINT || type == LINE || type == TRIANGLE) return 0;
  if (type != TETRAHEDRON)
    return lines_fail(&r->text, "elements of type %lld are not read, only tetrahedra (type %d)",
                      (long long)type, TETRAHEDRON);
  if (cursor_count(c, &tags)) return lines_fail_expected(&r->text, c, "the number of tags");
  for (int64_t i = 0; i < tags; i++)
    if (cursor_integer(c, &tag)) return lines_fail_expected(&r->text, c, "a tag");
  return read_cell(r, c);
}

static int read_elements(reader *r)
{
  int64_t promised;
  cursor c;
  if (r->has_elements++) return lines_fail(&r->text, "there are $Elements for the second time");
  if (!r->has_nodes) return lines_fail(&r->text, "$Elements come before $Nodes");
  if (read_count(r, "$Elements", &promised)) return 1;
  for (int64_t i = 0; i < promised; i++)
    if (line_of(r, &c, "$Elements") || read_element(r, &c, i, promised)) return 1;
  return read_end(r, "$Elements", "$EndElements");
}

/* ---- the whole file ---- */

/* Another section: skips to its $End... */
static int skip_section(reader *r, cursor *c)
{
  char section[WORD], end[WORD + 4];
  cursor_quote(c, section, sizeof section);
  if (section[0] != '$') return lines_fail_expected(&r->text, c, "a section, such as $Nodes,");
  snprintf(end, sizeof end, "$End%s", section + 1);
  do {
    if (line_of(r, c, section)) return 1;
  } while (!take_word(c, end));
  return 0;
}

static int read_sections(reader *r)
{
  if (read_format(r)) return 1;
  for (;;) {
    cursor c;
    int failed, got = next_line(r, &c);
    if (got < 0) return 1;
    if (got == 0) break;
    if (take_word(&c, "$Nodes"))
      failed = read_nodes(r);
    else if (take_word(&c, "$Elements"))
      failed = read_elements(r);
    else
      failed = skip_section(r, &c);
    if (failed) return 1;
  }
  if (!r->has_nodes) return lines_fail(&r->text, "the file ends, and there were no $Nodes");
  if (r->m.cells == 0) return lines_fail(&r->text, "the file ends, and there was no tetrahedron");
  return 0;
}

/* From memory, or from the file of that name. */
static int read_source(const char *name, const void *memory, size_t length, mesh *out,
                       read_error *error)
{
  reader r = {0};
  plain_numbers numbers = plain_numbers_begin();
  int failed = lines_open(&r.text, name, memory, length, error) || read_sections(&r);
  lines_close(&r.text);
  plain_numbers_end(&numbers);
  free(r.node);
  if (failed) mesh_free(&r.m);
  *out = r.m;
  return failed;
}

int mesh_read_gmsh(const char *path, mesh *out, mesh_error *error)
{
  return read_source(path, NULL, 0, out, error);
}

int mesh_read_gmsh_memory(const void *bytes, size_t length, const char *name, mesh *out,
                          mesh_error *error)
{
  return read_source(name, bytes ? bytes : "", length, out, error);
}
