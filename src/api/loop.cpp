// loop.cpp: weft_parallel_for and weft_parallel_reduce, by halving with forks, as parallel.hpp does it.
//
// They use the public interface only: what a program in C would write.
#include <algorithm>
#include <alloca.h>
#include <cstring>

#include "weft/weft.h"

namespace {

// Eight pieces per worker: enough that the slowest worker is waited for an eighth of its share.
size_t grain_or_default(size_t first, size_t last, size_t grain) noexcept {
  constexpr size_t kPiecesPerWorker = 8;
  if (grain != 0) return grain;
  const size_t workers = weft_initialized() ? std::max(1u, weft_workers_active()) : 1u;
  return std::max<size_t>(1, (last - first) / (workers * kPiecesPerWorker));
}

struct Loop {
  size_t grain;
  void (*body)(size_t first, size_t last, void* arg);
  void* arg;

  void run(size_t first, size_t last) const noexcept;
};

struct LoopHalf : weft_fork_t {
  static void start(weft_fork_t* self) noexcept {
    const auto* half = static_cast<LoopHalf*>(self);
    half->loop->run(half->first, half->last);
  }
  const Loop* loop;
  size_t first;
  size_t last;
};

void Loop::run(size_t first, size_t last) const noexcept {
  if (last - first <= grain) return body(first, last, arg);
  const size_t middle = first + (last - first) / 2;
  LoopHalf right{{&LoopHalf::start, nullptr, 0}, this, middle, last};
  weft_fork_push(&right);
  run(first, middle);
  if (weft_fork_pop(&right)) run(middle, last);
}

struct Reduction {
  size_t grain;
  const weft_reduction_t& of;
  void* arg;

  void run(size_t first, size_t last, void* value) const noexcept;
};

struct ReductionHalf : weft_fork_t {
  static void start(weft_fork_t* self) noexcept {
    const auto* half = static_cast<ReductionHalf*>(self);
    half->reduction->run(half->first, half->last, half->value);
  }
  const Reduction* reduction;
  size_t first;
  size_t last;
  void* value;
};

// Precondition: *value is the identity.
void Reduction::run(size_t first, size_t last, void* value) const noexcept {
  if (last - first <= grain) return of.fold(first, last, value, arg);
  const size_t middle = first + (last - first) / 2;
  void* right_value = alloca(of.size);
  std::memcpy(right_value, of.identity, of.size);
  ReductionHalf right{{&ReductionHalf::start, nullptr, 0}, this, middle, last, right_value};
  weft_fork_push(&right);
  run(first, middle, value);
  if (weft_fork_pop(&right)) run(middle, last, right_value);
  of.combine(value, right_value, arg);
}

}  // namespace

extern "C" {

int weft_parallel_for(size_t first, size_t last, size_t grain,
                      void (*body)(size_t first, size_t last, void* arg), void* arg) {
  if (body == nullptr) return WEFT_ERR_INVALID;
  if (first < last) Loop{grain_or_default(first, last, grain), body, arg}.run(first, last);
  return WEFT_OK;
}

int weft_parallel_reduce(size_t first, size_t last, size_t grain, const weft_reduction_t* reduction,
                         void* arg, void* result) {
  if (reduction == nullptr || result == nullptr || reduction->identity == nullptr ||
      reduction->fold == nullptr || reduction->combine == nullptr) {
    return WEFT_ERR_INVALID;
  }
  if (reduction->size > WEFT_REDUCTION_MAX) return WEFT_ERR_LIMIT;
  std::memcpy(result, reduction->identity, reduction->size);
  if (first < last) {
    Reduction{grain_or_default(first, last, grain), *reduction, arg}.run(first, last, result);
  }
  return WEFT_OK;
}

}  // extern "C"
