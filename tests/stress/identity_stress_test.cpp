// 64 ULTs with identities of their own on two workers, under ticks of 100 µs, in libraries that keep state for each thread: malloc,
// stdio, the loader, exceptions, std::mutex, OpenSSL's digests, regular expressions, locales. What they compute has to be right.
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <openssl/evp.h>
#include <regex.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/random_program.hpp"
#include "support/runtime_fixture.hpp"
#include "weft/block.h"
#include "weft/identity.h"

namespace {

using namespace weft_test;

thread_local int mine = 7;
[[gnu::noinline]] int& here() { return mine; }

std::mutex shared_lock;
long counted = 0;  // under the lock
std::atomic<long> expected{0};

void step_malloc(Random& random) {
  std::vector<std::string> strings;
  for (unsigned i = random.below(200); i > 0; --i) strings.push_back(std::string(random.below(3000), 'x'));
  for (const std::string& each : strings) ASSERT_EQ(each.find_first_not_of('x'), std::string::npos);
}

void step_stdio(Random& random) {
  const unsigned number = random.below(1'000'000);
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%u %.3f", number, number / 8.0);
  unsigned back = 0;
  double fraction = 0;
  ASSERT_EQ(std::sscanf(text.data(), "%u %lf", &back, &fraction), 2);
  ASSERT_EQ(back, number);
  FILE* const nowhere = std::fopen("/dev/null", "w");
  ASSERT_NE(nowhere, nullptr);
  std::fprintf(nowhere, "%s\n", text.data());
  ASSERT_EQ(std::fclose(nowhere), 0);
}

void step_loader(Random&) {
  void* const library = dlopen(WEFT_LATE_TLS, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto* const add = reinterpret_cast<int (*)(int)>(dlsym(library, "late_add"));
  ASSERT_NE(add, nullptr);
  const int before = add(0);
  ASSERT_EQ(add(1), before + 1001);
  ASSERT_EQ(dlsym(library, "not_there"), nullptr);
  ASSERT_NE(dlerror(), nullptr);
  dlclose(library);
}

void step_exception(Random& random) {
  const int number = static_cast<int>(random.below(1000));
  try {
    const std::string text = std::to_string(number);
    throw text;
  } catch (const std::string& caught) {
    ASSERT_EQ(std::stoi(caught), number);
  }
}

void step_mutex(Random& random) {
  const std::lock_guard hold(shared_lock);
  const long before = counted;
  for (unsigned i = random.below(2000); i > 0; --i) asm volatile("");
  counted = before + 1;
  expected.fetch_add(1, std::memory_order_relaxed);
}

void step_digest(Random& random) {
  const std::string text(random.below(4000), 'd');
  std::array<unsigned char, EVP_MAX_MD_SIZE> first, second;
  unsigned length = 0;
  for (auto* result : {&first, &second}) {
    EVP_MD_CTX* const context = EVP_MD_CTX_new();
    ASSERT_EQ(EVP_DigestInit_ex(context, EVP_sha256(), nullptr), 1);
    ASSERT_EQ(EVP_DigestUpdate(context, text.data(), text.size()), 1);
    ASSERT_EQ(EVP_DigestFinal_ex(context, result->data(), &length), 1);
    EVP_MD_CTX_free(context);
  }
  ASSERT_EQ(length, 32u);
  ASSERT_EQ(std::memcmp(first.data(), second.data(), length), 0);
}

void step_regex(Random& random) {
  const std::string number = std::to_string(random.below(100'000));
  const std::string text = "key = " + number + ";";
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("([a-z]+) = ([0-9]+);")));
  ASSERT_EQ(found[2], number);
  regex_t posix;
  ASSERT_EQ(regcomp(&posix, "= \\([0-9]*\\);", 0), 0);
  regmatch_t at[2];
  ASSERT_EQ(regexec(&posix, text.c_str(), 2, at, 0), 0);
  ASSERT_EQ(text.substr(static_cast<size_t>(at[1].rm_so), static_cast<size_t>(at[1].rm_eo - at[1].rm_so)), number);
  regfree(&posix);
}

void step_locale(Random&) {
  const locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(utf8, nullptr);
  const locale_t before = uselocale(utf8);
  wchar_t wide = 0;
  std::mbstate_t state{};
  ASSERT_EQ(std::mbrtowc(&wide, "\xc3\xa9", 2, &state), 2u);
  ASSERT_EQ(wide, 0xe9);
  ASSERT_EQ(uselocale(nullptr), utf8);
  uselocale(before);
  freelocale(utf8);
}

void step_yield(Random&) { weft_yield(); }

constexpr void (*kSteps[])(Random&) = {step_malloc, step_stdio,  step_loader, step_exception, step_mutex,
                                       step_digest, step_regex, step_locale, step_yield};

void run_steps(int number, uint64_t seed) {
  Random random(seed * 64 + static_cast<uint64_t>(number));
  const pthread_t self = pthread_self();
  ASSERT_EQ(here(), 7);
  for (int i = 0; i < 12; ++i) {
    here() = number;
    errno = number;
    const int before = errno;
    kSteps[random.below(std::size(kSteps))](random);
    ASSERT_EQ(before, number);
    ASSERT_EQ(here(), number);
    ASSERT_EQ(pthread_self(), self);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// What the process does when a ULT sleeps in the kernel, and how its ULTs are preempted there.
struct Setting {
  weft_blocking_mode_t blocking;
  uint32_t klts;
};

class IdentityStress : public testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(All, IdentityStress,
                         testing::Values(Setting{WEFT_BLOCKING_OFF, 512}, Setting{WEFT_BLOCKING_ON, 512},
                                         Setting{WEFT_BLOCKING_ON, 4}, Setting{WEFT_BLOCKING_AUTO, 512}),
                         [](const testing::TestParamInfo<Setting>& info) {
                           const weft_blocking_mode_t mode = info.param.blocking;
                           const std::string name = mode == WEFT_BLOCKING_OFF  ? "Unaware"
                                                    : mode == WEFT_BLOCKING_ON ? "On"
                                                                               : "Auto";
                           return name + (info.param.klts == 4 ? "FourKlts" : "");
                         });

TEST_P(IdentityStress, LibrariesWithStateOfThreads) {
  if (const char* why = weft::rt::san::no_identities()) GTEST_SKIP() << why;
  weft_identity_info_t identities;
  const auto end = std::chrono::steady_clock::now() + stress_time(std::chrono::seconds(2));
  for (uint64_t seed = first_seed(1); std::chrono::steady_clock::now() < end; ++seed) {
    SCOPED_TRACE("WEFT_STRESS_SEED=" + std::to_string(seed));
    weft_options_t options{};
    options.workers = 2;
    ASSERT_TRUE(ok(weft_initialize(&options)));
    ASSERT_TRUE(ok(weft_identity_info(&identities)));
    ASSERT_EQ(identities.why_not, nullptr);
    ASSERT_TRUE(ok(weft_blocking_set_mode(GetParam().blocking)));
    ASSERT_TRUE(ok(weft_blocking_set_klts(GetParam().klts)));
    ASSERT_TRUE(ok(weft_preemption_set_interval(100'000)));
    ASSERT_TRUE(ok(weft_preemption_set_mode(WEFT_PREEMPTION_ON)));
    weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
    attr.identity = WEFT_IDENTITY_OWN;
    attr.stack_size = size_t{256} << 10;  // a regular expression takes its time, and its stack
    std::vector<std::unique_ptr<Call>> calls;
    std::vector<weft_unit_t> units;
    for (int i = 0; i < 64; ++i) calls.push_back(std::make_unique<Call>([=] { run_steps(i, seed); }));
    for (auto& call : calls) units.push_back(call->ult(&attr));
    EXPECT_TRUE(ok(weft_free_many(units.size(), units.data())));
    ASSERT_TRUE(ok(weft_finalize()));
    EXPECT_EQ(counted, expected.load());
    if (HasFailure()) return;
  }
}

// Each time that a library with thread-local variables has come or gone it is learnt anew what they begin as.
TEST(IdentityAndLoader, LibrariesComeAndGo) {
  if (const char* why = weft::rt::san::no_identities()) GTEST_SKIP() << why;
  weft_options_t options{};
  options.workers = 1;
  ASSERT_TRUE(ok(weft_initialize(&options)));
  std::atomic<bool> ends{false};
  std::atomic<long> loads{0};
  std::thread loader([&] {
    while (!ends.load()) {
      void* const library = dlopen(WEFT_LATE_TLS, RTLD_NOW);
      ASSERT_NE(library, nullptr) << dlerror();
      dlclose(library);
      loads.fetch_add(1);
    }
  });
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = WEFT_IDENTITY_OWN;
  const auto end = std::chrono::steady_clock::now() + stress_time(std::chrono::seconds(1));
  for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
    Call call([&, i] { EXPECT_EQ(std::exchange(here(), i), 7); });
    weft_unit_t unit = call.ult(&attr);
    ASSERT_TRUE(ok(weft_free(&unit)));
  }
  ends.store(true);
  loader.join();
  EXPECT_GT(loads.load(), 0);
  ASSERT_TRUE(ok(weft_finalize()));
}

}  // namespace
