# libweft-bpf.so.0: the eBPF program by which blocking threads are seen where the process may load one, and what loads it.
# libweft loads this library at run time when that is so, and does without it where it is not there.

if(NOT WEFT_BPF)
  return()
endif()
find_program(WEFT_BPF_CLANG NAMES clang-19 clang clang-20 clang-18 clang-17 clang-16 clang-15 clang-14)
# Ubuntu's is in a folder for each kernel, behind a script that looks for the running one's.
file(GLOB bpftools /usr/lib/linux-tools*/ /usr/lib/linux-tools/*/)
find_program(WEFT_BPFTOOL NAMES bpftool PATHS ${bpftools} /usr/sbin /sbin NO_DEFAULT_PATH)
find_program(WEFT_BPFTOOL NAMES bpftool)
set(bpftool_fails 0)
if(WEFT_BPFTOOL)
  execute_process(COMMAND ${WEFT_BPFTOOL} version RESULT_VARIABLE bpftool_fails OUTPUT_QUIET ERROR_QUIET)
endif()
pkg_check_modules(LIBBPF libbpf)
if(NOT (WEFT_BPF_CLANG AND WEFT_BPFTOOL AND LIBBPF_FOUND) OR bpftool_fails)
  message(STATUS "weft: no eBPF: it needs clang, bpftool and libbpf (Debian: clang-19 bpftool libbpf-dev); "
                 "where a process could use it, WEFT_BLOCKING_RUNG=perf is used in its place")
  return()
endif()

set(bpf ${PROJECT_SOURCE_DIR}/src/block/bpf)
set(out ${PROJECT_BINARY_DIR}/bpf)
file(MAKE_DIRECTORY ${out})
# Debian's kernel headers lie in a folder named after the machine, which this target does not look in.
add_custom_command(
  OUTPUT ${out}/weft_switches.skel.h
  COMMAND ${WEFT_BPF_CLANG} -g -O2 -Wall -Werror -target bpf -D__TARGET_ARCH_x86 -I${PROJECT_SOURCE_DIR}/src
          -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -c ${bpf}/switches.bpf.c -o ${out}/switches.o
  COMMAND ${WEFT_BPFTOOL} gen object ${out}/weft_switches.o ${out}/switches.o
  COMMAND ${WEFT_BPFTOOL} gen skeleton ${out}/weft_switches.o name weft_switches > ${out}/weft_switches.skel.h
  DEPENDS ${bpf}/switches.bpf.c ${bpf}/slots.h VERBATIM)

add_library(weft_bpf SHARED ${bpf}/plugin.cpp ${out}/weft_switches.skel.h)
target_include_directories(weft_bpf PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(weft_bpf SYSTEM PRIVATE ${out} ${LIBBPF_INCLUDE_DIRS})
target_link_libraries(weft_bpf PRIVATE $<BUILD_INTERFACE:weft_flags> ${LIBBPF_LINK_LIBRARIES})
set_target_properties(weft_bpf PROPERTIES OUTPUT_NAME weft-bpf EXPORT_NAME bpf
  VERSION ${PROJECT_VERSION} SOVERSION 0 CXX_VISIBILITY_PRESET hidden)
# Beside whoever loads it: libweft.so, or a program of the tree with libweft.a in it, which does not look there any more once it is
# installed. The old kind of tag: under a sanitizer it is the sanitizer's library that loads it, for which the program's newer tag does
# not count.
add_dependencies(weft_archive weft_bpf)
set(CMAKE_BUILD_RPATH ${PROJECT_BINARY_DIR})
target_link_options(weft_archive INTERFACE $<BUILD_INTERFACE:-Wl,--disable-new-dtags>)
list(APPEND WEFT_INSTALLED weft_bpf)
