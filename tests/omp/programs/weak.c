/* weak.c: a library that uses no OpenMP, but asks whether it is in a region if there is a runtime. As OpenBLAS does. */
extern int omp_in_parallel(void) __attribute__((weak));

int is_bound(void);
int asks(int unused);

int is_bound(void) { return omp_in_parallel != 0; }
int asks(int unused) {
  (void)unused;
  return omp_in_parallel != 0 && omp_in_parallel();
}
