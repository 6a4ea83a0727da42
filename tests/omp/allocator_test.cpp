// OpenMP's allocators.
#include <gtest/gtest.h>

#include <cstring>

#include "allocator.hpp"

namespace {

using namespace weft::omp;

constexpr int key(Trait trait) { return static_cast<int>(trait); }

bool is_aligned(const void* memory, size_t to) { return reinterpret_cast<uintptr_t>(memory) % to == 0; }

TEST(OmpAllocator, AllPredefinedOnesHaveMemory) {
  for (AllocatorHandle handle = kNullAllocator; handle <= kLastPredefined; ++handle) {
    void* const memory = allocate(handle, 1, 1000, true);
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(is_aligned(memory, 16));
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(static_cast<char*>(memory)[i], 0);
    deallocate(memory);
  }
  if (void* const pinned = allocate(kPinnedOfGcc, 64, 1000, true); pinned != nullptr) {  // null: RLIMIT_MEMLOCK
    EXPECT_TRUE(is_aligned(pinned, 64));
    std::memset(pinned, 1, 1000);
    deallocate(pinned);
  }
  destroy_allocator(kPinnedOfGcc);
  EXPECT_EQ(allocate(kDefaultAllocator, 1, 0, false), nullptr);
  EXPECT_EQ(allocate(kDefaultAllocator, 3, 8, false), nullptr);
  EXPECT_EQ(allocate(kDefaultAllocator, 64, SIZE_MAX - 8, false), nullptr);
  deallocate(nullptr);
}

// The numbers of gcc's header, and of clang's old and new ones.
TEST(OmpAllocator, EachPredefinedSpaceIsOne) {
  for (const uintptr_t space : {0, 1, 2, 3, 4, 5, 99, 100, 101, 102, 200}) {
    const AllocatorHandle handle = create_allocator(space, 0, nullptr);
    EXPECT_NE(handle, kNullAllocator) << space;
    void* const memory = allocate(handle, 1, 100, false);
    EXPECT_NE(memory, nullptr);
    deallocate(memory);
    destroy_allocator(handle);
  }
  for (const uintptr_t space : {6, 98, 103, 201}) EXPECT_EQ(create_allocator(space, 0, nullptr), kNullAllocator) << space;
}

TEST(OmpAllocator, TheLargerAlignmentCounts) {
  const TraitValue traits[] = {{key(Trait::kAlignment), 256}};
  const AllocatorHandle handle = create_allocator(0, 1, traits);
  for (const size_t alignment : {1, 64, 4096}) {
    void* const memory = allocate(handle, alignment, 10, false);
    EXPECT_TRUE(is_aligned(memory, std::max<size_t>(alignment, 256)));
    deallocate(memory);
  }
  destroy_allocator(handle);
}

TEST(OmpAllocator, APoolThatIsUsedUpFallsBack) {
  const TraitValue none[] = {{key(Trait::kPoolSize), 1000}, {key(Trait::kFallback), static_cast<uintptr_t>(Fallback::kNull)}};
  const AllocatorHandle small = create_allocator(0, 2, none);
  void* const first = allocate(small, 1, 600, false);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(allocate(small, 1, 600, false), nullptr);
  deallocate(first);
  void* const again = allocate(small, 1, 600, false);
  EXPECT_NE(again, nullptr);

  const TraitValue other[] = {{key(Trait::kPoolSize), 100},
                              {key(Trait::kFallback), static_cast<uintptr_t>(Fallback::kAllocator)},
                              {key(Trait::kFallbackData), small}};
  const AllocatorHandle chained = create_allocator(0, 3, other);
  void* const from_small = allocate(chained, 1, 300, false);
  EXPECT_NE(from_small, nullptr);
  EXPECT_EQ(allocate(chained, 1, 300, false), nullptr);
  deallocate(from_small);
  deallocate(again);
  destroy_allocator(chained);
  destroy_allocator(small);
}

TEST(OmpAllocator, BlocksMayGrowAndMove) {
  const TraitValue pinned[] = {{key(Trait::kPinned), 1}};
  const AllocatorHandle handle = create_allocator(0, 1, pinned);
  char* memory = static_cast<char*>(allocate(handle, 1, 100, false));
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 7, 100);
  memory = static_cast<char*>(reallocate(memory, 9000, kDefaultAllocator));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(memory[i], 7);
  memory = static_cast<char*>(reallocate(memory, 50, kNullAllocator));
  for (int i = 0; i < 50; ++i) ASSERT_EQ(memory[i], 7);
  EXPECT_EQ(reallocate(memory, 0, kNullAllocator), nullptr);
  destroy_allocator(handle);
}

TEST(OmpAllocator, WrongTraitsMakeNone) {
  const TraitValue wrong[] = {{key(Trait::kAlignment), 3},  {key(Trait::kPoolSize), 0}, {key(Trait::kFallback), 3},
                              {key(Trait::kPinned), 2},     {key(Trait::kAccess), 3},   {key(Trait::kSyncHint), 9},
                              {key(Trait::kPartition), 99}, {77, 1}};
  for (const TraitValue& trait : wrong) EXPECT_EQ(create_allocator(0, 1, &trait), kNullAllocator) << trait.key;
  EXPECT_EQ(create_allocator(77, 0, nullptr), kNullAllocator);
}

}  // namespace
