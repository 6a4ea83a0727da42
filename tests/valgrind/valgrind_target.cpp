// The program that Valgrind watches: ULTs on every kind of stack, switches from each to each. With an argument a ULT
// does what Valgrind is there to find:
//   after-free     reads memory that has been freed
//   uninitialised  branches on a local variable that was never written
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

namespace {

constexpr int kUlts = 200;

void require(bool fine, int code) {
  if (!fine) std::_Exit(code);
}
void require_ok(int error, int code) { require(error == WEFT_OK, code); }

[[gnu::noinline]] int use_stack(int depth) {
  volatile char frame[200];
  std::memset(const_cast<char*>(frame), depth, sizeof frame);
  return depth == 0 ? frame[7] : use_stack(depth - 1) + frame[9];
}

void yields(void* arg) {
  for (int i = 0; i < 5; ++i) {
    *static_cast<int*>(arg) += use_stack(20) > 0;
    weft_yield();
  }
}

weft_unit_t start(weft_fn fn, void* arg, const weft_unit_attr_t& attr) {
  weft_unit_t unit = nullptr;
  require_ok(weft_ult_create(fn, arg, &attr, &unit), 3);
  return unit;
}

// Many, so that stacks of several batches are made; twice, so that they are used again.
void of_default_stacks() {
  for (int round = 0; round < 2; ++round) {
    std::vector<int> counts(kUlts);
    std::vector<weft_unit_t> units(kUlts);
    require_ok(weft_ult_create_many(kUlts, yields, counts.data(), sizeof(int), nullptr, units.data(), nullptr), 4);
    require_ok(weft_free_many(kUlts, units.data()), 5);
    for (const int count : counts) require(count == 5, 6);
  }
}

void of_each_technique() {
  for (const weft_technique_t technique :
       {WEFT_TECHNIQUE_AUTO, WEFT_TECHNIQUE_SC, WEFT_TECHNIQUE_SS_L, WEFT_TECHNIQUE_SS, WEFT_TECHNIQUE_JOINER}) {
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.technique = technique;
    int count = 0;
    weft_unit_t unit = start(yields, &count, attr);
    require_ok(weft_free(&unit), 7);
    require(count == 5, 8);
  }
}

void of_stacks_of_ones_own() {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.stack_size = 40000;
  int count = 0;
  weft_unit_t sized = start(yields, &count, attr);
  require_ok(weft_free(&sized), 9);
  std::vector<char> memory(65536);
  attr.stack_memory = memory.data();
  attr.stack_size = memory.size();
  weft_unit_t given = start(yields, &count, attr);
  require_ok(weft_free(&given), 10);
  require(count == 10, 11);
}

void of_exceptions() {
  weft::thread thread([] {
    try {
      throw std::runtime_error("kept across a suspension");
    } catch (const std::exception& error) {
      weft::this_thread::yield();
      require(std::strcmp(error.what(), "kept across a suspension") == 0, 12);
    }
  });
  thread.join();
}

void with_another_thread() {
  weft_event_t event = WEFT_EVENT_INIT;
  std::thread setter([&] { weft_event_set(&event); });
  require_ok(weft_event_wait(&event), 13);
  setter.join();
  require(weft_event_wait_until(&event, weft_after(1)) == WEFT_OK, 14);
  weft_event_reset(&event);
  require(weft_event_wait_until(&event, weft_after(1000000)) == WEFT_ERR_TIMEOUT, 15);
}

[[gnu::noinline]] void reads_freed_memory(void*) {
  auto* number = static_cast<int*>(std::malloc(sizeof(int)));
  *number = 1;
  volatile int* freed = number;
  asm("" : "+r"(freed));  // not a pointer that the compiler knows
  std::free(number);
  weft_yield();
  static_cast<void>(*freed);
}

[[gnu::noinline]] void branches_on_nothing(void*) {
  int number;
  asm("" : "=m"(number));  // written, as far as the compiler knows
  weft_yield();
  if (number != 0) weft_yield();
}

void err_as_told(const char* how) {
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  const bool after_free = std::strcmp(how, "after-free") == 0;
  weft_unit_t unit = start(after_free ? reads_freed_memory : branches_on_nothing, nullptr, attr);
  require_ok(weft_free(&unit), 16);
}

}  // namespace

int main(int argc, char** argv) {
  {
    weft::runtime runtime(weft::options{.workers = 2});
    of_default_stacks();
    of_each_technique();
    of_stacks_of_ones_own();
    of_exceptions();
    with_another_thread();
    if (argc > 1) err_as_told(argv[1]);
  }
  // Again: what was unmapped may be mapped as something else.
  weft::runtime again;
  of_default_stacks();
}
