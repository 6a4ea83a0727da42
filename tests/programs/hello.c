/* The first C program of the README, with its answers checked. */
#include <stdio.h>
#include <weft/weft.h>

static void square(void* arg) {
  int* n = arg;
  *n *= *n;
}

int main(void) {
  enum { kUnits = 1000 };
  static int numbers[kUnits];
  static weft_unit_t units[kUnits];
  for (int i = 0; i < kUnits; ++i) numbers[i] = i;

  if (weft_initialize(NULL) != WEFT_OK) return 1;
  int error = weft_ult_create_many(kUnits, square, numbers, sizeof numbers[0], NULL, units, NULL);
  if (error == WEFT_OK) error = weft_free_many(kUnits, units); /* joins them first */
  if (error != WEFT_OK) fprintf(stderr, "%s\n", weft_strerror(error));
  weft_finalize();

  for (int i = 0; i < kUnits; ++i) {
    if (numbers[i] != i * i) return 1;
  }
  return error;
}
