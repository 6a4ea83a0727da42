# The API reference: HTML, and man pages where doxygen2man is there too. Optional, and made where
# Doxygen is found, unless WEFT_DOCS says otherwise.

find_package(Doxygen QUIET)
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
set(can_document OFF)
if(DOXYGEN_FOUND AND Python3_FOUND)
  set(can_document ON)
endif()
option(WEFT_DOCS "Build the API reference (needs doxygen and python3; man pages: doxygen2man)"
       ${can_document})

if(NOT WEFT_DOCS)
  message(STATUS "API reference: none (WEFT_DOCS is off)")
  return()
elseif(NOT can_document)
  message(FATAL_ERROR "WEFT_DOCS is on, but doxygen or python3 is missing")
endif()

find_program(WEFT_DOXYGEN2MAN doxygen2man)
mark_as_advanced(WEFT_DOXYGEN2MAN)
if(WEFT_DOXYGEN2MAN)
  set(doxygen2man ${WEFT_DOXYGEN2MAN})
  message(STATUS "API reference: HTML and man pages")
else()
  set(doxygen2man "")
  message(STATUS "API reference: HTML (no man pages: doxygen2man was not found)")
endif()

set(docs_dir ${PROJECT_BINARY_DIR}/docs)
set(AT "@")
configure_file(${PROJECT_SOURCE_DIR}/docs/api/Doxyfile.in ${docs_dir}/Doxyfile @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/docs/api/Doxyfile.pages.in ${docs_dir}/Doxyfile.pages @ONLY)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/weft/*.h
     ${PROJECT_SOURCE_DIR}/include/weft/*.hpp)
add_custom_command(
  OUTPUT ${docs_dir}/done
  COMMAND ${PROJECT_SOURCE_DIR}/docs/api/build.sh ${PROJECT_VERSION} ${doxygen2man}
  WORKING_DIRECTORY ${docs_dir}
  DEPENDS ${headers} ${docs_dir}/Doxyfile ${docs_dir}/Doxyfile.pages
          ${PROJECT_SOURCE_DIR}/docs/api/build.sh ${PROJECT_SOURCE_DIR}/docs/api/filter.py
          ${PROJECT_SOURCE_DIR}/docs/api/mainpage.md
  COMMENT "Writing the API reference" VERBATIM)
add_custom_target(weft_docs ALL DEPENDS ${docs_dir}/done)

install(DIRECTORY ${docs_dir}/html DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT docs)
if(WEFT_DOXYGEN2MAN)
  install(DIRECTORY ${docs_dir}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT docs)
endif()
