# What is installed: headers, libraries, and how CMake and pkg-config find them. Nothing of it says
# where it is installed, so a tree can be moved. The reference: docs.cmake.

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS ${WEFT_INSTALLED} EXPORT weft)
install(EXPORT weft NAMESPACE weft:: FILE weft-targets.cmake DESTINATION ${package_dir})

# gdb looks for a script by the library's full name beside it; programs with the archive in them name theirs.
install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/weft-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft)
if(WEFT_SHARED)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/weft-gdb.py DESTINATION ${CMAKE_INSTALL_LIBDIR}
          RENAME libweft.so.${PROJECT_VERSION}-gdb.py)
endif()

include(CMakePackageConfigHelpers)
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-config.cmake.in weft-config.cmake COPYONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${package_dir})

# For a program that links libweft.a, C programs included, hence the C++ library.
list(TRANSFORM HWLOC_LIBRARY_DIRS PREPEND "-L" OUTPUT_VARIABLE libraries)
list(APPEND libraries -lhwloc -lweft_noudev -l${WEFT_CXX_RUNTIME} -lpthread -ldl -lm)
list(JOIN libraries " " libraries)
set(WEFT_PC_LIBS "")
set(WEFT_PC_LIBS_PRIVATE "${libraries}")
if(NOT WEFT_SHARED)
  set(WEFT_PC_LIBS " ${libraries}")
  set(WEFT_PC_LIBS_PRIVATE "")
endif()
file(RELATIVE_PATH WEFT_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
set(WEFT_PC_INTERCEPT "")
if(TARGET weft_intercept)
  set(WEFT_PC_INTERCEPT "-Wl,--undefined=weft_intercept -lweft_intercept ")
endif()
set(WEFT_PC_ARCHIVE_LIBS "${libraries}")
foreach(name weft weft-archive)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN api EXCLUDE)
