# Writes OUTPUT, a C file with the table of the machines that come with the library, from FOLDER:
#
#   cmake -DFOLDER=machines -DOUTPUT=builtins.c -P cmake/profiles.cmake
#
# A text is one string literal a line. Every expansion is quoted: to CMake a semicolon in a text
# would otherwise be the end of it.
file(GLOB files ${FOLDER}/*.machine)
list(SORT files)
set(table "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "?" "\\?" text "${text}") # no trigraphs
  string(REPLACE "\n" "\\n\"\n   \"" text "${text}")
  string(APPEND table "  {\"${name}\",\n   \"${text}\"},\n")
endforeach()
file(
  WRITE ${OUTPUT}
  "/* Made from machines/ by cmake/profiles.cmake. */\n#include \"model/machine.h\"\n\n"
  "const grove_builtin grove_builtins[] = {\n" "${table}" "  {NULL, NULL},\n};\n"
)
