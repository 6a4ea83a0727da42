// tiles.h: a symmetric matrix is factorised by tiles: one task for each tile operation, ordered by `depend`. The tile operations are
// themselves parallel, as those of a library that was written on its own would be: so teams are opened inside of tasks, many
// more of them than there are cores. For C and C++.
#ifndef CHOLESKY_TILES_H
#define CHOLESKY_TILES_H

#include <math.h>

enum { kTile = 48, kInnerThreads = 4 };
typedef double Tile[kTile][kTile];

// C -= A * transposed(B), rows in parallel.
static void multiply(Tile c, Tile a, Tile b) {
#pragma omp parallel for num_threads(kInnerThreads) schedule(static)
  for (int i = 0; i < kTile; ++i) {
    for (int j = 0; j < kTile; ++j) {
      double sum = 0;
      for (int k = 0; k < kTile; ++k) sum += a[i][k] * b[j][k];
      c[i][j] -= sum;
    }
  }
}

// B = B * inverse(transposed(L)), rows in parallel.
static void solve(Tile b, Tile l) {
#pragma omp parallel for num_threads(kInnerThreads) schedule(static)
  for (int i = 0; i < kTile; ++i) {
    for (int j = 0; j < kTile; ++j) {
      double sum = b[i][j];
      for (int k = 0; k < j; ++k) sum -= b[i][k] * l[j][k];
      b[i][j] = sum / l[j][j];
    }
  }
}

static void factor(Tile a) {
  for (int j = 0; j < kTile; ++j) {
    for (int i = j; i < kTile; ++i) {
      double sum = a[i][j];
      for (int k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
    }
  }
}

// t: n × n tiles, of which those below the diagonal are used.
static void cholesky(int n, Tile* t) {
#pragma omp parallel
#pragma omp single
  for (int k = 0; k < n; ++k) {
#pragma omp task depend(inout : t[k * n + k])
    factor(t[k * n + k]);
    for (int i = k + 1; i < n; ++i) {
#pragma omp task depend(in : t[k * n + k]) depend(inout : t[i * n + k])
      solve(t[i * n + k], t[k * n + k]);
    }
    for (int i = k + 1; i < n; ++i) {
      for (int j = k + 1; j <= i; ++j) {
#pragma omp task depend(in : t[i * n + k], t[j * n + k]) depend(inout : t[i * n + j])
        multiply(t[i * n + j], t[i * n + k], t[j * n + k]);
      }
    }
  }
}

#endif  // CHOLESKY_TILES_H
