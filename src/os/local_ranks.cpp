#include "os/local_ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <tuple>

namespace weft::rt {
namespace {

struct Launcher {
  const char* count;
  const char* rank;
  const char* programs;  // how many different ones the job consists of; null: it does not tell
};

constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_NUM_APP_CTX"},  // Open MPI
    {"MPI_LOCALNRANKS", "MPI_LOCALRANKID", nullptr},                                    // Hydra: MPICH, Intel MPI
    {"MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", nullptr},                // MVAPICH
};

std::optional<int> number(const char* text) noexcept {
  if (text == nullptr) return std::nullopt;
  const std::string_view all(text);
  int value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error != std::errc() || end != all.data() + all.size()) return std::nullopt;
  return value;
}

// Neighbours share a core as far as they do, and the node.
std::vector<Pu> compact(std::vector<Pu> pus) {
  std::sort(pus.begin(), pus.end(),
            [](const Pu& a, const Pu& b) { return std::tie(a.node, a.core, a.cpu) < std::tie(b.node, b.core, b.cpu); });
  return pus;
}

}  // namespace

LocalRanks local_ranks(char* (*source)(const char* name)) noexcept {
  for (const Launcher& launcher : kLaunchers) {
    const int count = number(source(launcher.count)).value_or(0);
    if (count < 1) continue;
    if (launcher.programs != nullptr && number(source(launcher.programs)).value_or(1) > 1) return {};
    const int rank = number(source(launcher.rank)).value_or(-1);
    return {count, rank < count ? std::max(rank, -1) : -1};
  }
  return {};
}

LocalRanks local_ranks() noexcept { return local_ranks(&std::getenv); }

CpuShare cpu_share(const Topology& topology, const LocalRanks& ranks, int machine) {
  const int pus = static_cast<int>(topology.pus.size());
  if (pus == 0) return {};
  const double here = static_cast<double>(ranks.count) * pus / std::max(machine, pus);
  const int sharers = std::clamp(static_cast<int>(std::lround(here)), 1, ranks.count);
  if (sharers == 1) return {pus, topology.pus};
  if (sharers < ranks.count || ranks.rank < 0) return {std::max(pus / sharers, 1), {}};
  const std::vector<Pu> all = compact(topology.pus);
  const auto bound = [&](int rank) { return static_cast<int>(static_cast<long>(rank) * pus / ranks.count); };
  const int first = bound(ranks.rank);
  const int end = std::max(bound(ranks.rank + 1), first + 1);
  std::vector<int> cpus;
  for (const Pu& pu : topology.pus) {
    const auto same = [&pu](const Pu& other) { return other.cpu == pu.cpu; };
    if (std::any_of(all.begin() + first, all.begin() + end, same)) cpus.push_back(pu.cpu);
  }
  return {end - first, select_pus(topology, cpus)};
}

CpuShare cpu_share(const Topology& topology) {
  const LocalRanks ranks = local_ranks();
  // One rank has all, whatever the machine has: no file is read for that.
  return cpu_share(topology, ranks, ranks.count == 1 ? 0 : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
}

int workers_for(const CpuShare& share, const LocalRanks& ranks, double quota) noexcept {
  return std::max(1, static_cast<int>(std::min<double>(share.size, std::ceil(quota / ranks.count))));
}

}  // namespace weft::rt
