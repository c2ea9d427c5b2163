/* The test programs of a suite, by name. CMake makes the table, and compiles each program with
 * another name for its main. */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

typedef struct suite_program {
  const char *name; /* "module/behaviour"; NULL ends the table */
  int (*run)(int argc, char **argv);
} suite_program;

extern const suite_program suite_programs[];

#endif
