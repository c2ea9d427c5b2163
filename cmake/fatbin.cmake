# Writes OUTPUT, a C file with the bytes of the fatbin INPUT as the array NAME, which src/device/
# cuda_unit.c loads, or bench/links/sm_links.c:
#
#   cmake -DINPUT=grove.fatbin -DOUTPUT=fatbin.c -DNAME=grove_cuda_fatbin -P cmake/fatbin.cmake
#
# Eight bytes are a number: that compiles quickly, and the array is aligned as CUDA wants it. The
# machines that CUDA knows have the lowest byte of a number first.
file(READ ${INPUT} bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR rest "${digits} % 16")
if(rest)
  math(EXPR missing "16 - ${rest}")
  string(REPEAT 0 ${missing} zeros)
  string(APPEND bytes ${zeros})
endif()
string(REGEX REPLACE "(..)(..)(..)(..)(..)(..)(..)(..)" "0x\\8\\7\\6\\5\\4\\3\\2\\1,\n" bytes
       "${bytes}")
file(
  WRITE ${OUTPUT}
  "/* Made by cmake/fatbin.cmake. */\n"
  "extern const unsigned long long ${NAME}[];\n\n"
  "const unsigned long long ${NAME}[] = {\n${bytes}};\n"
)
