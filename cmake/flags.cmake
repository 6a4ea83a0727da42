# What every translation unit of this tree is compiled with. `weft_flags` is linked privately by
# our own targets only, so that nothing of it leaks into a program that uses Weft. Warnings are errors
# in the presets (CMAKE_COMPILE_WARNING_AS_ERROR), and not where somebody else's compiler builds a package, nor by a compiler
# that we have not built with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(weft_flags INTERFACE)
target_compile_options(weft_flags INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wundef -fvisibility=hidden -fno-plt>
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
set(known_GNU 12 14 16)
set(known_Clang 19)
string(REGEX MATCH "^[0-9]+" major "${CMAKE_CXX_COMPILER_VERSION}")
if(NOT major IN_LIST known_${CMAKE_CXX_COMPILER_ID})
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
endif()
# Who waits stands in a queue with what lies on its stack, and leaves it before that ends; gcc 14 sees the first half.
target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-dangling-pointer>)
# gcc 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(weft_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
target_compile_definitions(weft_flags INTERFACE
  WEFT_DEBUG=$<BOOL:${WEFT_DEBUG}> $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>)

# Instrumentation must cover the tests and everything they link, so it is set for the whole tree.
if(WEFT_SANITIZE STREQUAL "asan")
  # Not enum: a C program may pass any int for one, and gets an error code.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=enum -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(WEFT_SANITIZE STREQUAL "tsan")
  # gcc warns that TSan does not model stand-alone fences. That is known: where a fence matters,
  # the code for this build says what it does instead (base/sanitizer/tsan).
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-error=tsan> $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  add_link_options(-fsanitize=thread)
elseif(NOT WEFT_SANITIZE STREQUAL "none")
  message(FATAL_ERROR "WEFT_SANITIZE is '${WEFT_SANITIZE}'; it may be none, asan or tsan")
endif()
# gcc says which it is by a macro, clang 19 by __has_feature() only.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT WEFT_SANITIZE STREQUAL "none")
  set(sanitizer $<IF:$<STREQUAL:${WEFT_SANITIZE},asan>,__SANITIZE_ADDRESS__,__SANITIZE_THREAD__>)
  add_compile_options(-U${sanitizer} -D${sanitizer}=1)
endif()
