/* blas.h: products of OpenBLAS, and the same by hand. */
#pragma once
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

/* n x n numbers that are the same each time for one seed, and sums of their products exact. */
static inline double* matrix(int n, int seed) {
  double* a = malloc(sizeof(double) * (size_t)n * (size_t)n);
  unsigned state = (unsigned)seed * 2654435761u + 1;
  for (int i = 0; i < n * n; ++i) {
    state = state * 1664525u + 1013904223u;
    a[i] = (double)(state >> 28) - 8;
  }
  return a;
}

static inline void multiply(const double* a, const double* b, double* c, int n) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
}

/* Whether c is a * b, looked at in some places. */
static inline int is_product(const double* a, const double* b, const double* c, int n) {
  for (int k = 0; k < 4 * n; ++k) {
    const int i = k * 7 % n, j = k * 13 % n;
    double sum = 0;
    for (int l = 0; l < n; ++l) sum += a[i * n + l] * b[l * n + j];
    if (sum != c[i * n + j]) return 0;
  }
  return 1;
}
