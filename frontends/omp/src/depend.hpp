// depend.hpp: dependences between the children of a task.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "task.hpp"

namespace weft::omp {

// A task among its siblings: it may outlive its task, as what later ones would wait for.
struct DepNode;

// Makes the node of a task, or (null) of a taskwait, behind what it has to wait for. Only the parent's thread.
// `inserted`: later siblings wait for it. Returns null where it has to wait for nobody and nobody for it. `seen`: a taskwait's.
// `waiting`: the thread that waits for it; null: its task is made ready by task_is_ready().
DepNode* node_create(Task* parent, Task* task, size_t n, const Depend* depends, bool inserted, Thread* waiting,
                     ompt_data_t* seen = nullptr);
// Everything is linked. True: it waits for nobody. False: it will be made ready, or `waiting` is woken.
bool node_arm(DepNode* node);
bool node_is_ready(const DepNode* node);
// Its task has ended: those that wait for nobody else are ready. Thread, here and below: the caller; null: none of OpenMP's.
void dependences_met(Thread* thread, DepNode* node);
void node_release(Thread* thread, DepNode* node);
void dependences_destroy(Thread* thread, DepTable* table);

}  // namespace weft::omp
