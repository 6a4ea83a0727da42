// Names from the symbol table of a library's file, where they have been loaded.
#include "identity/private_symbols.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace {

using weft::rt::PrivateSymbols;

TEST(PrivateSymbols, AreWhereTheLoaderHasThem) {
  void* library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  PrivateSymbols symbols("libc.so");
  for (const char* name : {"getpid", "environ", "_exit"}) EXPECT_EQ(symbols.find(name), dlsym(library, name)) << name;
  EXPECT_EQ(symbols.find("weft_no_such_name"), nullptr);
  dlclose(library);
}

TEST(PrivateSymbols, OfALibraryThatIsNotThere) { EXPECT_EQ(PrivateSymbols("libweft_no_such_library.so").find("getpid"), nullptr); }

TEST(PrivateSymbols, AreNotFoundAnyMoreOnceTheyAreForgotten) {
  PrivateSymbols symbols("libc.so");
  ASSERT_NE(symbols.find("getpid"), nullptr);
  symbols.forget();
  EXPECT_EQ(symbols.find("getpid"), nullptr);
}

}  // namespace
