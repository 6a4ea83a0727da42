// ULTs with an identity of their own, however the program is linked: either they are right, or Weft says why it cannot be.
#include <errno.h>
#include <stdio.h>
#include <weft/identity.h>
#include <weft/weft.h>

#define ULTS 8

static __thread int own = 7;
static int wrong[ULTS];

static void work(void* arg) {
  int* const result = arg;
  const int number = (int)(result - wrong);
  *result = own != 7;
  own = errno = number;
  for (int i = 0; i < 100; ++i) {
    weft_yield();
    *result |= own != number || errno != number;
  }
}

int main(void) {
  weft_options_t options = {0};
  options.workers = 2;
  if (weft_initialize(&options) != WEFT_OK) return 2;
  weft_unit_attr_t attr = WEFT_UNIT_ATTR_INIT;
  attr.identity = WEFT_IDENTITY_OWN;
  weft_unit_t units[ULTS] = {0};
  int made = 0;
  int error = WEFT_OK;
  while (made < ULTS && (error = weft_ult_create(work, &wrong[made], &attr, &units[made])) == WEFT_OK) ++made;
  weft_identity_info_t info;
  if (weft_identity_info(&info) != WEFT_OK) return 3;
  int failed = (error == WEFT_ERR_UNSUPPORTED) != (info.why_not != NULL);
  if (info.why_not != NULL) {
    printf("no identities: %s\n", info.why_not);
    failed |= made != 0;
  } else {
    failed |= made != ULTS;
  }
  if (made > 0) failed |= weft_free_many((size_t)made, units) != WEFT_OK;
  for (int i = 0; i < made; ++i) failed |= wrong[i];
  return weft_finalize() != WEFT_OK || failed;
}
