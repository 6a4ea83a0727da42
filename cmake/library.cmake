# The library, twice: weft_archive (libweft.a) and weft_shared (libweft.so.0).
#
# What differs by machine or by instrumentation is a choice of file, made here:
#   src/arch/<isa>/               only the one of the target
#   src/base/sanitizer/<which>/   only the one of WEFT_SANITIZE; where that is none, valgrind if its header is
#                                 there. Found by its plain file name
#   src/intercept/                only where WEFT_SANITIZE is none; in the shared library, and in an archive of its own
#   src/inspect/cfi/<which>/      libunwind where its header is there, else none

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" WEFT_ISA)
if(WEFT_ISA MATCHES "^(amd64|x86_64)$")
  set(WEFT_ISA x86_64)
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(HWLOC REQUIRED hwloc)
list(REMOVE_ITEM HWLOC_LIBRARY_DIRS "" ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
find_package(Threads REQUIRED)

include(CheckIncludeFileCXX)
# A negative answer is not kept: what a message asks for may have been installed since.
foreach(header IN ITEMS LIBUNWIND VALGRIND)
  if(NOT WEFT_HAVE_${header})
    unset(WEFT_HAVE_${header} CACHE)
  endif()
endforeach()
# At run time it is loaded if it is there, and not linked: see src/inspect/cfi/libunwind/.
check_include_file_cxx(libunwind.h WEFT_HAVE_LIBUNWIND)
if(WEFT_HAVE_LIBUNWIND)
  set(WEFT_CFI libunwind)
else()
  set(WEFT_CFI none)
  message(STATUS "weft: no libunwind.h (Debian: libunwind-dev): backtraces of weft_dump() will follow frame "
                 "pointers only")
endif()

# Whom switches and stacks are told of. Only Valgrind's header is needed, and nothing at run time.
set(WEFT_TOLD ${WEFT_SANITIZE})
check_include_file_cxx(valgrind/valgrind.h WEFT_HAVE_VALGRIND)
if(WEFT_TOLD STREQUAL none AND WEFT_HAVE_VALGRIND)
  set(WEFT_TOLD valgrind)
elseif(WEFT_TOLD STREQUAL none)
  message(STATUS "weft: no valgrind/valgrind.h (Debian: valgrind): Valgrind will not know the stacks of ULTs")
endif()

file(GLOB_RECURSE WEFT_SOURCES CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/src/*.cpp ${PROJECT_SOURCE_DIR}/src/*.S)
set(foreign ${WEFT_SOURCES})
# A library of its own: see cmake/bpf.cmake.
list(FILTER WEFT_SOURCES EXCLUDE REGEX "/src/block/bpf/")
# Not in libweft.a: see its README.
set(WEFT_INTERCEPT ${WEFT_SOURCES})
list(FILTER WEFT_INTERCEPT INCLUDE REGEX "/src/intercept/")
list(FILTER WEFT_SOURCES EXCLUDE REGEX "/src/intercept/")
list(FILTER foreign INCLUDE REGEX "/src/(arch|base/sanitizer|inspect/cfi)/[^/]+/")
list(FILTER foreign EXCLUDE REGEX "/src/(arch/${WEFT_ISA}|base/sanitizer/${WEFT_TOLD}|inspect/cfi/${WEFT_CFI})/")
list(REMOVE_ITEM WEFT_SOURCES ${foreign} "")

# Frames that call a unit in assembly are found through the frame pointer by unwinders, which do not
# see the words that the assembly pushes.
set_source_files_properties(
  ${PROJECT_SOURCE_DIR}/src/worker/switching.cpp ${PROJECT_SOURCE_DIR}/src/klt/klt.cpp
  ${PROJECT_SOURCE_DIR}/src/api/join.cpp
  PROPERTIES COMPILE_OPTIONS -fno-omit-frame-pointer)

# hwloc: PUBLIC where a program that uses the target must link it too.
function(weft_configure target hwloc)
  if(WEFT_ISA STREQUAL x86_64)
    target_compile_options(${target} PRIVATE -mno-red-zone)  # the switch pushes words of its own
  endif()
  # Where a function or a loop of a few nanoseconds lies in its cache line is a tenth of its time: not to change with what stands
  # before it.
  target_compile_options(${target} PRIVATE -falign-functions=64 -falign-loops=32)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/arch/${WEFT_ISA}
            ${PROJECT_SOURCE_DIR}/src/base/sanitizer/${WEFT_TOLD})
  target_include_directories(${target} SYSTEM PRIVATE ${HWLOC_INCLUDE_DIRS})
  # hwloc by name, not by path: a program linked with -static then finds libhwloc.a.
  target_link_directories(${target} ${hwloc} ${HWLOC_LIBRARY_DIRS})
  target_link_libraries(${target} ${hwloc} hwloc Threads::Threads ${CMAKE_DL_LIBS})  # glibc before 2.34 has dlsym() in a library of its own
  # A project in C alone knows no features of C++.
  target_compile_features(${target} PUBLIC $<$<BOOL:$<CXX_COMPILER_ID>>:cxx_std_20>)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:weft_flags>)
  target_compile_definitions(${target} PRIVATE WEFT_LOCK_BY_CALLS)  # the functions themselves
endfunction()

# Builds that are for tests alone read these once. What a source file forgets to include is found in the release build, which reads them
# once only for a TWIN: a target whose files are compiled for another one as well.
function(weft_read_headers_once target)
  if(WEFT_TEST_FILES OR (WEFT_TESTS AND "TWIN" IN_LIST ARGN))
    target_precompile_headers(${target} PRIVATE <algorithm> <atomic> <cstdint> <cstdio> <cstring> <memory> <mutex> <string>
      <string_view> <utility> <vector>)
    # gcc 12, where it has read <string> so: what a std::string copies may be as long as the address space.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow$<SEMICOLON>-Wno-array-bounds>)
  endif()
endfunction()

# For tests alone compiled once, for both; what is installed is not, since the archive is faster where its addresses are fixed.
set(archive ${WEFT_SOURCES})
set(shared ${WEFT_SOURCES})
if(WEFT_SHARED AND WEFT_TEST_FILES)
  add_library(weft_objects OBJECT ${WEFT_SOURCES})
  weft_configure(weft_objects PUBLIC)
  weft_read_headers_once(weft_objects)
  set_target_properties(weft_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set(archive $<TARGET_OBJECTS:weft_objects>)
  set(shared $<TARGET_OBJECTS:weft_objects>)
endif()

add_library(weft_archive STATIC ${archive})
weft_configure(weft_archive PUBLIC)
if(NOT TARGET weft_objects)
  weft_read_headers_once(weft_archive)
endif()
# A project in C alone does not link the C++ library by itself.
set(WEFT_CXX_RUNTIME ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER WEFT_CXX_RUNTIME INCLUDE REGEX "^(std)?c\\+\\+$")
list(REMOVE_DUPLICATES WEFT_CXX_RUNTIME)
target_link_libraries(weft_archive INTERFACE "$<$<NOT:$<BOOL:$<CXX_COMPILER_ID>>>:${WEFT_CXX_RUNTIME};m>")
set_target_properties(weft_archive PROPERTIES OUTPUT_NAME weft EXPORT_NAME archive)

# What a program that the loader starts links: the archive, and before the C library what stands before its functions.
add_library(weft_static INTERFACE)
add_library(weft::static ALIAS weft_static)
target_link_libraries(weft_static INTERFACE weft_archive)
set_target_properties(weft_static PROPERTIES EXPORT_NAME static)
set(WEFT_INSTALLED weft_archive weft_static)
if(WEFT_SANITIZE STREQUAL "none")
  set(sources ${WEFT_INTERCEPT})
  list(FILTER sources EXCLUDE REGEX "/src/intercept/shared/")
  list(FILTER WEFT_INTERCEPT EXCLUDE REGEX "/src/intercept/archive/")
  add_library(weft_intercept STATIC ${sources})
  weft_configure(weft_intercept PRIVATE)
  set_target_properties(weft_intercept PROPERTIES EXPORT_NAME intercept)
  target_link_libraries(weft_intercept INTERFACE weft_archive)
  target_link_libraries(weft_static INTERFACE weft_intercept)
  target_link_options(weft_static INTERFACE -Wl,--undefined=weft_intercept)
  list(APPEND WEFT_INSTALLED weft_intercept)
else()
  set(WEFT_INTERCEPT "")
endif()

# Tests and benchmarks that look inside link this one: the static library and its private headers.
add_library(weft_internals INTERFACE)
target_link_libraries(weft_internals INTERFACE weft_archive weft_flags)
target_include_directories(weft_internals INTERFACE
  ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/arch/${WEFT_ISA}
  ${PROJECT_SOURCE_DIR}/src/base/sanitizer/${WEFT_TOLD})

# For programs linked with -static: Debian's libhwloc.a wants libudev, of which there is no static
# version. hwloc asks it about disks only, which we never do; see the file.
add_library(weft_noudev STATIC cmake/noudev.c)
target_link_libraries(weft_noudev PRIVATE $<BUILD_INTERFACE:weft_flags>)
set_target_properties(weft_noudev PROPERTIES EXPORT_NAME noudev)
add_library(weft_static_program INTERFACE)
target_link_options(weft_static_program INTERFACE -static -Wl,--undefined=udev_new)
target_link_libraries(weft_static_program INTERFACE weft_archive weft_noudev hwloc weft_noudev)
set_target_properties(weft_static_program PROPERTIES EXPORT_NAME static_program)
add_library(weft::static_program ALIAS weft_static_program)

list(APPEND WEFT_INSTALLED weft_noudev weft_static_program)
include(cmake/bpf.cmake)
if(WEFT_SHARED)
  add_library(weft_shared SHARED ${shared} ${WEFT_INTERCEPT})
  add_library(weft::weft ALIAS weft_shared)
  weft_configure(weft_shared PRIVATE)
  if(NOT TARGET weft_objects)
    weft_read_headers_once(weft_shared TWIN)
  endif()
  set_source_files_properties(${WEFT_INTERCEPT} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  set(map ${PROJECT_SOURCE_DIR}/src/weft.map)
  target_link_options(weft_shared PRIVATE -Wl,--version-script=${map} -Wl,-z,defs -Wl,-z,now
                      -Wl,-z,nodelete)  # its workers may be running when it is closed: docs/process.md
  set_target_properties(weft_shared PROPERTIES
    OUTPUT_NAME weft EXPORT_NAME weft VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${map})
  # The loader looks into libweft.so before that library, and so before the C library: see src/intercept/.
  target_link_options(weft_shared INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>:-Wl,--auxiliary=libweft.so.0>)
  list(APPEND WEFT_INSTALLED weft_shared)
else()
  add_library(weft::weft ALIAS weft_static)
endif()

