// local_ranks.hpp: the other processes of our MPI job on this machine, and which CPUs are left for us.
//
// Who starts a job with several processes to a machine, and does not bind them, lets each of them use all CPUs. With a worker for
// each CPU in each process there are so many kernel threads to a CPU, and a rank that spins for a message keeps the workers of the one that is to
// send it from their CPU for a time slice: a job of 2 ranks with 2 workers each took up to nine times as long on two CPUs as with
// one worker each. So a process has as many workers by default as its share of the CPUs, and where they are bound, there.
//
// A rank that waits by sleeping could have lent its CPUs: they are not used. Where the launcher tells that the job consists of several
// programs, some of them may need one CPU and others the rest of the machine: nothing is shared out then.
//
// Launchers tell by the environment. Slurm's srun does not, in a way that tells its tasks from a program that a batch script starts beside
// them; it binds its tasks itself.
#pragma once

#include <vector>

#include "os/topology.hpp"

namespace weft::rt {

struct LocalRanks {
  int count = 1;
  int rank = -1;  // among them, from 0; -1: not told
};

// As Open MPI, MPICH, Intel MPI and MVAPICH tell it. `source` is getenv(), or what a test puts in its place.
LocalRanks local_ranks(char* (*source)(const char* name)) noexcept;
LocalRanks local_ranks() noexcept;

struct CpuShare {
  int size = 1;
  // Which they are, in the order in which workers get them; empty: we cannot tell, as only some of the ranks use the same CPUs.
  std::vector<Pu> pus;
};

// `machine`: how many CPUs there are. Ranks are taken to be spread evenly: of 4 ranks of which each may use half of the machine, two use the
// same half. May throw std::bad_alloc.
CpuShare cpu_share(const Topology& topology, const LocalRanks& ranks, int machine);
CpuShare cpu_share(const Topology& topology);

// How many workers make sense by default: one for each CPU of our share, but not more than our share of the CPU quota (quota.hpp) can
// keep busy. At least 1.
int workers_for(const CpuShare& share, const LocalRanks& ranks, double quota) noexcept;

}  // namespace weft::rt
