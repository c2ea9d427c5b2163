# CUDA, where it is wanted: sets GROVE_WITH_CUDA, and then makes GROVE_FATBIN_C, the kernels as a C
# file. Only the driver's interface is used: headers of the toolkit, and none of its libraries.
set(GROVE_CUDA "AUTO" CACHE STRING "CUDA devices: ON, OFF, or AUTO (where nvcc works)")
set_property(CACHE GROVE_CUDA PROPERTY STRINGS AUTO ON OFF)
find_program(GROVE_NVCC nvcc HINTS /usr/local/cuda/bin)

# The machine code of two generations, and what any younger one than the oldest can translate.
set(nvcc_flags -fatbin -fmad=false -std=c++17 -gencode=arch=compute_90,code=sm_90
               -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_75,code=compute_75)

# Where is cuda.h? nvcc knows; and can it compile? Sets GROVE_CUDA_INCLUDE, empty if it cannot, and
# GROVE_CUDA_SAID, what nvcc says.
function(grove_try_nvcc)
  if(DEFINED CACHE{GROVE_CUDA_INCLUDE} AND GROVE_CUDA_TRIED STREQUAL GROVE_NVCC)
    return()
  endif()
  set(try ${PROJECT_BINARY_DIR}/generated/try_cuda)
  file(WRITE ${try}.cu "#include <cuda.h>\n#if CUDA_VERSION < 12000\n#error CUDA is older than 12.0\n"
       "#endif\nextern \"C\" __global__ void grove_run(int *i) { *i = 1; }\n")
  execute_process(COMMAND ${GROVE_NVCC} ${nvcc_flags} -MD -MF ${try}.d -o ${try}.fatbin ${try}.cu
                  RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  set(include "")
  if(result EQUAL 0)
    file(READ ${try}.d dependences)
    if(dependences MATCHES "([^ \n]+)/cuda\\.h")
      get_filename_component(include ${CMAKE_MATCH_1} REALPATH)
    endif()
  endif()
  set(GROVE_CUDA_INCLUDE "${include}" CACHE INTERNAL "The folder of cuda.h")
  set(GROVE_CUDA_SAID "${said}" CACHE INTERNAL "What nvcc said")
  set(GROVE_CUDA_TRIED "${GROVE_NVCC}" CACHE INTERNAL "The nvcc that said it")
endfunction()

# What checks memory or threads takes the driver's for mistakes of the program, and fuzz targets have
# nothing to do with devices.
set(GROVE_WITH_CUDA OFF)
if(GROVE_CUDA STREQUAL "AUTO" AND (GROVE_SANITIZE OR GROVE_FUZZ))
elseif(GROVE_CUDA AND GROVE_NVCC)
  grove_try_nvcc()
  if(GROVE_CUDA_INCLUDE)
    set(GROVE_WITH_CUDA ON)
  elseif(NOT GROVE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "GROVE_CUDA is ${GROVE_CUDA}, and ${GROVE_NVCC} does not work:\n${GROVE_CUDA_SAID}")
  endif()
elseif(GROVE_CUDA AND NOT GROVE_CUDA STREQUAL "AUTO")
  message(FATAL_ERROR "GROVE_CUDA is ${GROVE_CUDA}, and there is no nvcc")
endif()
if(NOT GROVE_WITH_CUDA)
  return()
endif()

# Made once: a build with a second MPI has that of the first.
set(fatbin ${PROJECT_BINARY_DIR}/generated/grove.fatbin)
if(GROVE_KERNELS_OF AND EXISTS ${GROVE_KERNELS_OF}/generated/grove.fatbin)
  set(fatbin ${GROVE_KERNELS_OF}/generated/grove.fatbin)
else()
  file(GLOB included CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/pack/*.inc)
  add_custom_command(
    OUTPUT ${fatbin}
    COMMAND ${GROVE_NVCC} ${nvcc_flags} --threads 0 -I${PROJECT_SOURCE_DIR}/src -o ${fatbin}
            ${PROJECT_SOURCE_DIR}/src/device/cuda_kernels.cu
    DEPENDS src/device/cuda_kernels.cu src/device/cuda_kernels.h src/pack/recipe.h ${included}
    COMMENT "Compiling kernels for CUDA"
    VERBATIM
  )
endif()
set(GROVE_FATBIN_C ${PROJECT_BINARY_DIR}/generated/fatbin.c)
add_custom_command(
  OUTPUT ${GROVE_FATBIN_C}
  COMMAND ${CMAKE_COMMAND} -DINPUT=${fatbin} -DOUTPUT=${GROVE_FATBIN_C}
          -DNAME=grove_cuda_fatbin -P ${PROJECT_SOURCE_DIR}/cmake/fatbin.cmake
  DEPENDS ${fatbin} cmake/fatbin.cmake
  VERBATIM
)
