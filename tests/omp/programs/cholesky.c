/* cholesky.c: a matrix of tiles, factorised by tasks with dependences; each calls OpenBLAS, which may open regions of its own. */
#include <omp.h>

#include "blas.h"
#include "check.h"

enum { kTiles = 6, kTile = 96, kAll = kTiles * kTile };

void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);

typedef double Tile[kTile * kTile];
static Tile tiles[kTiles][kTiles];
static double original[kAll * kAll], whole[kAll * kAll];

static void make(void) {
  double* random = matrix(kAll, 3);
  for (int i = 0; i < kAll; ++i)
    for (int j = 0; j < kAll; ++j) original[i * kAll + j] = (random[i * kAll + j] + random[j * kAll + i]) / 2 + (i == j ? 16.0 * kAll : 0);
  free(random);
  for (int i = 0; i < kAll; ++i)
    for (int j = 0; j < kAll; ++j)
      tiles[i / kTile][j / kTile][i % kTile * kTile + j % kTile] = original[i * kAll + j];
}

/* Of a row-major matrix what LAPACK calls the upper part is the lower. */
static void factor(double* a, int n) {
  int info = -1;
  dpotrf_("U", &n, a, &n, &info);
  CHECK(info == 0);
}

static void solve(const double* diagonal, double* a) {
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, kTile, kTile, 1, diagonal, kTile, a, kTile);
}

static void update(const double* left, const double* right, double* a) {
  if (left == right) {
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, kTile, kTile, -1, left, kTile, 1, a, kTile);
  } else {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kTile, kTile, kTile, -1, left, kTile, right, kTile, 1, a, kTile);
  }
}

static void factor_tiles(void) {
#pragma omp parallel
#pragma omp single
  for (int k = 0; k < kTiles; ++k) {
#pragma omp task depend(inout : tiles[k][k])
    factor(tiles[k][k], kTile);
    for (int i = k + 1; i < kTiles; ++i) {
#pragma omp task depend(in : tiles[k][k]) depend(inout : tiles[i][k])
      solve(tiles[k][k], tiles[i][k]);
    }
    for (int i = k + 1; i < kTiles; ++i)
      for (int j = k + 1; j <= i; ++j) {
#pragma omp task depend(in : tiles[i][k], tiles[j][k]) depend(inout : tiles[i][j])
        update(tiles[i][k], tiles[j][k], tiles[i][j]);
      }
  }
}

int main(void) {
  omp_set_max_active_levels(2);
  for (int threads = 1; threads <= 4; ++threads) {
    omp_set_num_threads(threads);
    make();
    factor_tiles();
    for (int i = 0; i < kAll * kAll; ++i) whole[i] = original[i];
    factor(whole, kAll);
    double most = 0;
    for (int i = 0; i < kAll; ++i)
      for (int j = 0; j <= i; ++j)
        most = fmax(most, fabs(whole[i * kAll + j] - tiles[i / kTile][j / kTile][i % kTile * kTile + j % kTile]));
    CHECK(most < 1e-9);
  }
  return check_end();
}
