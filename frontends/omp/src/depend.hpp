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
DepNode* node_create(Task* parent, Task* task, size_t n, const Depend* depends, bool inserted, ompt_data_t* seen = nullptr);
// Everything is linked. True: it waits for nobody. False: for a task: it will be made ready by task_is_ready(); for
// `waiting`: that thread is woken.
bool node_arm(DepNode* node, Thread* waiting);
bool node_is_ready(const DepNode* node);
// Its task has ended: those that wait for nobody else are ready.
void dependences_met(Thread* caller, DepNode* node);
void node_release(DepNode* node);
void dependences_destroy(DepTable* table);

}  // namespace weft::omp
