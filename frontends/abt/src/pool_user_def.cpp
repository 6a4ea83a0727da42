// pool_user_def.cpp: definitions of user-defined pools.
//
// ABT_pool_user_def is a pointer to the older struct ABT_pool_def. One of ours begins with such a struct in which
// nothing is set; a program's own has u_create_from_thread.
#include "pool_user_def.hpp"

#include <new>

#include "runtime.hpp"

namespace weft::abt {
namespace {

struct UserDef {
  struct ABT_pool_def nothing {};
  PoolDef def;
};

UserDef* ours(ABT_pool_user_def def) noexcept {
  if (is_null(def) || def->u_create_from_thread != nullptr) return nullptr;
  return reinterpret_cast<UserDef*>(def);
}

template <class Function>
int set(ABT_pool_user_def def, Function PoolDef::* field, Function value) noexcept {
  UserDef* user = ours(def);
  if (user == nullptr) return ABT_ERR_INV_POOL_USER_DEF;
  user->def.*field = value;
  return ABT_SUCCESS;
}

}  // namespace

PoolDef read_def(ABT_pool_user_def def) noexcept {
  if (const UserDef* user = ours(def)) return user->def;
  PoolDef old;
  old.old = true;
  old.of_old = *def;
  return old;
}

}  // namespace weft::abt

using namespace weft::abt;

extern "C" {

int ABT_pool_user_def_create(ABT_pool_user_create_unit_fn p_create_unit, ABT_pool_user_free_unit_fn p_free_unit,
                             ABT_pool_user_is_empty_fn p_is_empty, ABT_pool_user_pop_fn p_pop,
                             ABT_pool_user_push_fn p_push, ABT_pool_user_def* newdef) {
  if (!running()) return fail(newdef, ABT_POOL_USER_DEF_NULL, ABT_ERR_UNINITIALIZED);
  auto* user = new (std::nothrow) UserDef;
  if (user == nullptr) return fail(newdef, ABT_POOL_USER_DEF_NULL, ABT_ERR_MEM);
  user->def.create_unit = p_create_unit;
  user->def.free_unit = p_free_unit;
  user->def.is_empty = p_is_empty;
  user->def.pop = p_pop;
  user->def.push = p_push;
  *newdef = &user->nothing;
  return ABT_SUCCESS;
}

int ABT_pool_user_def_free(ABT_pool_user_def* def) {
  UserDef* user = def != nullptr ? ours(*def) : nullptr;
  if (user == nullptr) return ABT_ERR_INV_POOL_USER_DEF;
  delete user;
  *def = ABT_POOL_USER_DEF_NULL;
  return ABT_SUCCESS;
}

int ABT_pool_user_def_set_init(ABT_pool_user_def def, ABT_pool_user_init_fn p_init) {
  return set(def, &PoolDef::init, p_init);
}
int ABT_pool_user_def_set_free(ABT_pool_user_def def, ABT_pool_user_free_fn p_free) {
  return set(def, &PoolDef::free, p_free);
}
int ABT_pool_user_def_set_get_size(ABT_pool_user_def def, ABT_pool_user_get_size_fn p_get_size) {
  return set(def, &PoolDef::get_size, p_get_size);
}
int ABT_pool_user_def_set_pop_wait(ABT_pool_user_def def, ABT_pool_user_pop_wait_fn p_pop_wait) {
  return set(def, &PoolDef::pop_wait, p_pop_wait);
}
int ABT_pool_user_def_set_pop_many(ABT_pool_user_def def, ABT_pool_user_pop_many_fn p_pop_many) {
  return set(def, &PoolDef::pop_many, p_pop_many);
}
int ABT_pool_user_def_set_push_many(ABT_pool_user_def def, ABT_pool_user_push_many_fn p_push_many) {
  return set(def, &PoolDef::push_many, p_push_many);
}
int ABT_pool_user_def_set_print_all(ABT_pool_user_def def, ABT_pool_user_print_all_fn p_print_all) {
  return set(def, &PoolDef::print_all, p_print_all);
}

}  // extern "C"
