/* openblas.c: OpenBLAS, with OpenMP's threads of its own, outside of regions, in loops, in tasks, beside the program's threads. */
#include <omp.h>
#include <pthread.h>

#include "blas.h"
#include "check.h"

enum { kSize = 160, kMatrices = 12 };

static double *a[kMatrices], *b[kMatrices], *c[kMatrices];

static void check_products(void) {
  for (int i = 0; i < kMatrices; ++i) {
    CHECK(is_product(a[i], b[i], c[i], kSize));
    for (int k = 0; k < kSize * kSize; ++k) c[i][k] = NAN;
  }
}

static void one_after_the_other(void) {
  for (int i = 0; i < kMatrices; ++i) multiply(a[i], b[i], c[i], kSize);
  check_products();
}

static void in_loops(void) {
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < kMatrices; ++i) multiply(a[i], b[i], c[i], kSize);
  check_products();
  double x[kSize], y[kMatrices][kSize];
  int wrong = 0;
  for (int i = 0; i < kSize; ++i) x[i] = i % 5;
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < kMatrices; ++i)
    cblas_dgemv(CblasRowMajor, CblasNoTrans, kSize, kSize, 1, a[i], kSize, x, 1, 0, y[i], 1);
  for (int i = 0; i < kMatrices; ++i)
    for (int k = 0; k < kSize; ++k) {
      double sum = 0;
      for (int l = 0; l < kSize; ++l) sum += a[i][k * kSize + l] * x[l];
      wrong += sum != y[i][k];
    }
  CHECK(wrong == 0);
}

static void in_tasks(void) {
#pragma omp parallel
#pragma omp single
  {
    for (int i = 0; i < kMatrices; ++i) {
#pragma omp task depend(out : c[i])
      multiply(a[i], b[i], c[i], kSize);
    }
#pragma omp taskloop grainsize(1) nogroup
    for (int i = 0; i < kMatrices; ++i) {
      double* mine = matrix(kSize, i);
      multiply(a[i], b[i], mine, kSize);
      CHECK(is_product(a[i], b[i], mine, kSize));
      free(mine);
    }
  }
  check_products();
}

/* Each call by itself: while one opens regions, OpenBLAS 0.3.21 is wrong at times if another one does, on any runtime. */
static void* some(void* first) {
  omp_set_num_threads(1);
  for (int i = *(int*)first; i < kMatrices; i += 3) multiply(a[i], b[i], c[i], kSize);
  return NULL;
}

static void from_threads(void) {
  int first[3] = {0, 1, 2};
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, some, &first[i]) == 0);
  double* mine = matrix(kSize, 1);
  multiply(a[0], b[0], mine, kSize);
  CHECK(is_product(a[0], b[0], mine, kSize));
  free(mine);
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  check_products();
}

int main(void) {
  for (int i = 0; i < kMatrices; ++i) {
    a[i] = matrix(kSize, 2 * i);
    b[i] = matrix(kSize, 2 * i + 1);
    c[i] = matrix(kSize, 0);
  }
  for (int threads = 1; threads <= 4; ++threads) {
    omp_set_num_threads(threads);
    one_after_the_other();
    in_loops();
    in_tasks();
    from_threads();
  }
  return check_end();
}
