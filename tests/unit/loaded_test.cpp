// Which program or library lies at an address, as the loader's own functions say it.
#include "inspect/loaded.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

namespace {

using namespace weft::rt;

struct Object {
  uintptr_t bias = 0, low = UINTPTR_MAX, high = 0, unwind_table = 0;
};

int note(dl_phdr_info* info, size_t, void* to) {
  Object object;
  object.bias = info->dlpi_addr;
  for (const auto* each = info->dlpi_phdr; each != info->dlpi_phdr + info->dlpi_phnum; ++each) {
    const uintptr_t at = info->dlpi_addr + each->p_vaddr;
    if (each->p_type == PT_GNU_EH_FRAME) object.unwind_table = at;
    if (each->p_type != PT_LOAD) continue;
    object.low = std::min(object.low, at);
    object.high = std::max(object.high, at + each->p_memsz);
  }
  static_cast<std::vector<Object>*>(to)->push_back(object);
  return 0;
}

std::vector<Object> all_objects() {
  std::vector<Object> all;
  dl_iterate_phdr(note, &all);
  return all;
}

using Look = bool(uintptr_t, Loaded&) noexcept;

void expect_same(Look* look, uintptr_t address, const Object& object) {
  Loaded loaded;
  ASSERT_TRUE(look(address, loaded)) << std::hex << address;
  EXPECT_EQ(loaded.bias, object.bias);
  EXPECT_EQ(loaded.unwind_table, object.unwind_table);
  EXPECT_LE(loaded.low, address);
  EXPECT_GT(loaded.high, address);
}

class LoadedTest : public testing::TestWithParam<Look*> {};
INSTANTIATE_TEST_SUITE_P(Ways, LoadedTest, testing::Values(loaded_at, loaded_in_list),
                         [](const auto& way) { return way.param == loaded_at ? "AsIs" : "List"; });

TEST_P(LoadedTest, EachIsFoundByItsFirstCode) {
  loaded_forget();
  const std::vector<Object> all = all_objects();
  EXPECT_GE(all.size(), 3u);
  for (const Object& object : all) expect_same(GetParam(), object.unwind_table, object);
}

TEST_P(LoadedTest, TheProgramIsTheFirst) {
  loaded_forget();
  Loaded loaded;
  ASSERT_TRUE(GetParam()(reinterpret_cast<uintptr_t>(&all_objects), loaded));
  EXPECT_EQ(loaded.map, _r_debug.r_map);
}

TEST_P(LoadedTest, NothingIsFoundOutside) {
  loaded_forget();
  const int on_the_stack = 0;
  Loaded loaded;
  EXPECT_FALSE(GetParam()(reinterpret_cast<uintptr_t>(&on_the_stack), loaded));
  EXPECT_FALSE(GetParam()(0, loaded));
  EXPECT_FALSE(GetParam()(UINTPTR_MAX, loaded));
}

TEST(LoadedObject, IsFoundByCodeAndKeepsErrno) {
  for (const auto look : {loaded_object, loaded_object_in_list}) {
    for (const Object& object : all_objects()) {
      errno = ENOTTY;
      const link_map* map = look(reinterpret_cast<const void*>(object.unwind_table));
      EXPECT_EQ(errno, ENOTTY);
      ASSERT_NE(map, nullptr);
      EXPECT_EQ(map->l_addr, object.bias);
    }
    const int on_the_stack = 0;
    EXPECT_EQ(look(&on_the_stack), nullptr);
  }
}

TEST(LoadedList, IsReadAnewOnceItIsForgotten) {
  loaded_forget();
  Loaded loaded;
  ASSERT_TRUE(loaded_in_list(reinterpret_cast<uintptr_t>(&std::printf), loaded));
  void* library = dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  const auto address = reinterpret_cast<uintptr_t>(map->l_ld);
  loaded_forget();
  ASSERT_TRUE(loaded_in_list(address, loaded));
  EXPECT_EQ(loaded.map, map);
  dlclose(library);
  loaded_forget();
  EXPECT_FALSE(loaded_in_list(address, loaded));
}

}  // namespace
