#include "identity/values.hpp"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "identity/c_library.hpp"
#include "sanitizer_switch.hpp"

namespace weft::rt {
namespace {

// Of one module: what its variables begin as. A copy, because the module may be unloaded while it is used.
struct Image {
  TlsSlot slot;
  ptrdiff_t offset = 0;  // from the thread pointer; 0: wherever the thread's vector says
  std::vector<char> begins;
  size_t size = 0;  // with what begins as 0
  bool kept = true;  // nothing here, or the C library's own
};

// By the number of the module. The last one is there to be seen when it is no longer empty.
struct Images {
  std::vector<Image> of;
  std::vector<bool> tools_keys;
  bool complete = false;
};
// Not destroyed at the end of the process: ULTs may end later.
Images& images = *new Images;
Images& learnt = *new Images;  // of the thread that learns

uintptr_t* word_at(uintptr_t thread_pointer, ptrdiff_t offset) noexcept {
  return reinterpret_cast<uintptr_t*>(thread_pointer + static_cast<uintptr_t>(offset));
}

bool has_errno(const dl_phdr_info* object, size_t size) noexcept {
  const auto* block = static_cast<const char*>(object->dlpi_tls_data);
  const auto* here = reinterpret_cast<const char*>(&errno);
  return block != nullptr && here >= block && here < block + size;
}

// Under the lock of the loader's list of objects. What is about to be loaded is in that before it has its slot in the table: no thread has
// a variable of it yet, and values_known() sees when it has one.
int learn_module(dl_phdr_info* object, size_t, void*) noexcept {
  const size_t module = object->dlpi_tls_modid;
  if (module == 0) return 0;
  for (const auto* header = object->dlpi_phdr; header != object->dlpi_phdr + object->dlpi_phnum; ++header) {
    if (header->p_type != PT_TLS) continue;
    try {
      if (learnt.of.size() < module + 2) learnt.of.resize(module + 2);
      Image& image = learnt.of[module];
      image.slot = tls_slot(module);
      if (image.slot.module == nullptr) return 0;
      image.offset = tls_offset(image.slot);
      image.size = header->p_memsz;
      image.kept = has_errno(object, header->p_memsz);
      const auto* begin = reinterpret_cast<const char*>(object->dlpi_addr + header->p_vaddr);
      image.begins.assign(begin, begin + header->p_filesz);
    } catch (const std::bad_alloc&) {
      learnt.complete = false;
      return 1;
    }
  }
  return 0;
}

void reset_block(char* block, const Image& image) noexcept {
  std::memcpy(block, image.begins.data(), image.begins.size());
  std::memset(block + image.begins.size(), 0, image.size - image.begins.size());
}

// Where the block of a module without a fixed place is; null: it has not got one yet.
char* dynamic_block(const DtvEntry* vector, size_t module, const Image& image) noexcept {
  const bool current = vector[-1].counter >= module && vector[0].counter >= image.slot.generation;
  if (!current || vector[module].block == kNoBlock) return nullptr;
  return static_cast<char*>(vector[module].block);
}

bool has_values(const KeyValue* block) noexcept {
  uintptr_t any = 0;
  for (size_t i = 0; i < c_library.keys_per_block; ++i) any |= reinterpret_cast<uintptr_t>(block[i].value);
  return any != 0;
}

// Calls f(number of its key, value) for the values of each block that has any.
template <class F>
[[gnu::always_inline]] inline void for_each_value(uintptr_t thread_pointer, F f) noexcept {
  KeyValue* const* blocks = reinterpret_cast<KeyValue* const*>(thread_pointer + c_library.key_blocks);
  for (size_t block = 0; block < c_library.key_block_count; ++block) {
    if (blocks[block] == nullptr || !has_values(blocks[block])) continue;
    for (size_t i = 0; i < c_library.keys_per_block; ++i) f(block * c_library.keys_per_block + i, blocks[block][i]);
  }
}

const KeyRecord& key_record(size_t key) noexcept {
  return reinterpret_cast<const KeyRecord*>(c_library.keys)[key];
}

// A sanitizer's key, whose destructor would end what it knows of the lender: it has a value in threads that have done nothing.
bool is_tools(size_t key) noexcept { return key < images.tools_keys.size() && images.tools_keys[key]; }

bool to_be_destroyed(size_t key, const KeyValue& value) noexcept {
  return value.value != nullptr && !is_tools(key) && value.sequence == key_record(key).sequence && key_record(key).destructor != nullptr;
}

}  // namespace

void values_learn() noexcept {
  learnt.of.clear();
  learnt.complete = true;
  dl_iterate_phdr(learn_module, nullptr);
  if (!san::kOwnThreadLocals) return;
  learnt.tools_keys.assign(c_library.key_block_count * c_library.keys_per_block, false);
  for (size_t key = 0; key < learnt.tools_keys.size(); ++key) {
    learnt.tools_keys[key] = pthread_getspecific(static_cast<pthread_key_t>(key)) != nullptr;
  }
}

void values_publish() noexcept { std::swap(images, learnt); }

bool values_known() noexcept {
  for (size_t module = 1; module < images.of.size(); ++module) {
    if (!tls_slot(module).same(images.of[module].slot)) return false;
  }
  return images.complete;
}

void values_reset(uintptr_t thread_pointer, bool keys) noexcept {
  const auto* vector = reinterpret_cast<const DtvEntry*>(*word_at(thread_pointer, static_cast<ptrdiff_t>(c_library.dtv)));
  for (size_t module = 1; module < images.of.size(); ++module) {
    const Image& image = images.of[module];
    if (image.kept) continue;
    char* block = image.offset != 0 ? reinterpret_cast<char*>(word_at(thread_pointer, image.offset))
                                    : dynamic_block(vector, module, image);
    if (block != nullptr) reset_block(block, image);
  }
  *reinterpret_cast<bool*>(word_at(thread_pointer, c_library.on_klt)) = true;
  *reinterpret_cast<int*>(word_at(thread_pointer, c_library.error)) = 0;
  if (keys) for_each_value(thread_pointer, [](size_t, KeyValue& value) { value.value = nullptr; });
}

ValuesLeft values_left(uintptr_t thread_pointer) noexcept {
  ValuesLeft left{*word_at(thread_pointer, c_library.tls_destructors) != 0, false};
  for_each_value(thread_pointer, [&](size_t key, const KeyValue& value) {
    left.keys = true;
    left.destructors |= to_be_destroyed(key, value);
  });
  return left;
}

void values_run_destructors() noexcept {
  c_library.run_tls_destructors();
  const size_t keys = c_library.key_block_count * c_library.keys_per_block;
  bool more = true;
  for (int round = 0; more && round < PTHREAD_DESTRUCTOR_ITERATIONS; ++round) {
    more = false;
    for (size_t key = 0; key < keys; ++key) {
      void* value = pthread_getspecific(static_cast<pthread_key_t>(key));
      if (value == nullptr || is_tools(key)) continue;
      void (*destructor)(void*) = key_record(key).destructor;
      pthread_setspecific(static_cast<pthread_key_t>(key), nullptr);
      if (destructor == nullptr) continue;
      destructor(value);
      more = true;
    }
  }
}

}  // namespace weft::rt
