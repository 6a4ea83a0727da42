// teams.cpp: host teams of clang's and flang's code.
#include <algorithm>
#include <cstdarg>

#include "icv.hpp"
#include "llvm/ident.hpp"
#include "llvm/microtask.hpp"
#include "region.hpp"
#include "team.hpp"

namespace weft::omp::llvm {
namespace {

void run_call(void* arg) { run_in(this_member(), *static_cast<const Call*>(arg)); }

}  // namespace
}  // namespace weft::omp::llvm

using namespace weft::omp;
using namespace weft::omp::llvm;

WEFT_OMP_API void __kmpc_fork_teams(Ident*, int32_t argc, Microtask fn, ...) {
  void** argv = static_cast<void**>(__builtin_alloca(sizeof(void*) * static_cast<size_t>(argc + 1)));
  va_list arguments;
  va_start(arguments, fn);
  for (int i = 0; i < argc; ++i) argv[i] = va_arg(arguments, void*);
  va_end(arguments);
  Call call = {fn, argc, argv};
  const tool::Entry entry(WEFT_OMP_CALLER);
  Thread& thread = this_thread();
  const int teams = thread.push_teams > 0 ? thread.push_teams : device().num_teams.load();
  const int limit = thread.push_limit > 0 ? thread.push_limit : device().teams_thread_limit.load();
  thread.push_teams = 0;
  thread.push_limit = 0;
  thread.push_threads = 0;
  league(std::max(teams, 1), limit, run_call, &call);
}

// 0: not given.
WEFT_OMP_API void __kmpc_push_num_teams(Ident*, int32_t gtid, int32_t teams, int32_t limit) {
  Thread& thread = thread_of(gtid);
  thread.push_teams = std::max(teams, 0);
  thread.push_limit = std::max(limit, 0);
}

// num_teams(at_least : at_most): as many as there may be. What the environment wants counts between the bounds.
WEFT_OMP_API void __kmpc_push_num_teams_51(Ident* ident, int32_t gtid, int32_t at_least, int32_t at_most, int32_t limit) {
  int teams = at_most > 0 ? at_most : at_least;
  if (const int wish = device().num_teams; wish > 0 && at_least < at_most) teams = std::clamp(wish, at_least, at_most);
  __kmpc_push_num_teams(ident, gtid, teams, limit);
}

// thread_limit() of a target region that runs here.
WEFT_OMP_API void __kmpc_set_thread_limit(Ident*, int32_t gtid, int32_t limit) {
  if (limit > 0) own_icvs(*thread_of(gtid).member).thread_limit = limit;
}
