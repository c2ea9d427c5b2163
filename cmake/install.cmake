# What is installed: libraries, headers, the command, manual pages, documents, examples, and what
# CMake and pkg-config must know. Nothing of it names the prefix: the folder may be moved.
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/grove)

install(TARGETS grove grove_static grove_readers EXPORT grove_targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(GROVE_TOOLS)
  install(TARGETS grove_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES include/grove.h include/grove_cuda.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES tools/matrix_market/matrix_market.h tools/matrix_market/read_error.h
              tools/mesh/mesh.h tools/mesh/mesh_run.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/grove_readers)
install(FILES ${GROVE_MACHINES} DESTINATION ${CMAKE_INSTALL_DATADIR}/grove/machines)
install(FILES docs/man/grove.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
if(GROVE_PYTHON)
  install(DIRECTORY ${GROVE_MANUAL}/man3 ${GROVE_MANUAL}/man7 DESTINATION ${CMAKE_INSTALL_MANDIR})
endif()
# Documents and examples lie beside each other as in the source, for the links between them.
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN man EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.[ch]" PATTERN "CMakeLists.txt")

# ---- for CMake ----
install(EXPORT grove_targets NAMESPACE grove:: DESTINATION ${config_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/grove-config.cmake.in
                              ${PROJECT_BINARY_DIR}/grove-config.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/grove-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/grove-config.cmake
              ${PROJECT_BINARY_DIR}/grove-config-version.cmake DESTINATION ${config_dir})

# ---- for pkg-config, which finds the prefix from where its files lie ----
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(GROVE_PC_PREFIX ${CMAKE_INSTALL_PREFIX}) # they may lie anywhere
else()
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" GROVE_PC_PREFIX "\${pcfiledir}/${up}")
endif()
foreach(folder LIBDIR INCLUDEDIR)
  set(GROVE_PC_${folder} ${CMAKE_INSTALL_${folder}})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_${folder}})
    set(GROVE_PC_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()
set(GROVE_PC_MORE "")
if(GROVE_WITH_CUDA OR GROVE_WITH_LIBFABRIC)
  set(GROVE_PC_MORE " -ldl")
endif()
foreach(module grove grove_readers)
  configure_file(cmake/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${module}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# ---- the list of all that, for tools/uninstall: it moves along with them ----
if(GROVE_MAIN)
  install(CODE [[
    set(list "")
    foreach(file IN LISTS CMAKE_INSTALL_MANIFEST_FILES)
      file(RELATIVE_PATH inside "${CMAKE_INSTALL_PREFIX}" "${file}")
      if(inside MATCHES "^\\.\\./")
        set(inside "${file}")
      endif()
      string(APPEND list "${inside}\n")
    endforeach()
    file(WRITE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/share/grove/manifest" "${list}")
  ]])
endif()
