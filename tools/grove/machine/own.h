/* The profiles that this user has measured, where machine=auto looks for them. */
#ifndef GROVE_TOOLS_MACHINE_OWN_H
#define GROVE_TOOLS_MACHINE_OWN_H

#ifdef __cplusplus
extern "C" {
#endif

enum { OWN_PATH_BYTES = 1024 };

typedef struct own_profiles {
  int n, automatic;             /* automatic: the index of the one that is this machine's, or -1 */
  char (*path)[OWN_PATH_BYTES]; /* in the order of their names */
} own_profiles;

/* None where there is no such folder. 1: out of memory. */
int own_list(own_profiles *out);
void own_free(own_profiles *p);

/* What is to be opened: `name`, unless it is "auto". That is this machine's own profile, put into
 * `path`, or else a published one of its kind, which is said on standard error for the command
 * `who`. */
const char *own_resolve(const char *who, const char *name, char path[OWN_PATH_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
