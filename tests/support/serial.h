/* What the constructions of forests from forests mean, computed serially from the sketches of all
 * ranks. Arguments that each rank passes separately are arrays over the ranks. */
#ifndef TEST_SERIAL_H
#define TEST_SERIAL_H

#include "sketch.h"

/* Numbers that one rank passes; item is NULL where it passes NULL. */
typedef struct list {
  int64_t n;
  int64_t *item;
} list;

/* Empty lists for this many ranks; room for n numbers in one of them. */
list *lists_create(int nranks);
void list_resize(list *l, int64_t n);
void lists_free(list *l, int nranks);

static inline int list_has(const list *l, int64_t number)
{
  for (int64_t i = 0; i < l->n; i++)
    if (l->item[i] == number) return 1;
  return 0;
}

/* Of a sketch whose roots have at most one leaf; this also holds for `b` of the third. */
sketch *serial_inverse(const sketch *f);
sketch *serial_compose(const sketch *a, const sketch *b);
sketch *serial_compose_inverse(const sketch *a, const sketch *b);

sketch *serial_embed_roots(const sketch *f, const list *root);
sketch *serial_embed_leaves(const sketch *f, const list *slot);

sketch *serial_concatenate(int n, sketch *const *f, grove_roots mode);
sketch *serial_merge(const sketch *a, const sketch *b);

sketch *serial_strided(const sketch *f, int64_t n, const int64_t *root_stride,
                       const int64_t *leaf_stride);

/* Offsets: NULL for side by side, on every rank separately. */
sketch *serial_expand(const sketch *f, const list *root_size, const list *root_offset,
                      const list *leaf_offset);

sketch *serial_match(int nranks, const list *name, const list *sought);

#endif
