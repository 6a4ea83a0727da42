// cholesky: a plain OpenMP program, which knows nothing of Weft. tiles.h says what it does.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "tiles.h"

static double element(int i, int j) { return i == j ? 1000.0 : 1.0 / (1 + abs(i - j)); }

// The largest difference between L * transposed(L) and the matrix, in some rows.
static double error_of(int n, Tile* t) {
  const int size = n * kTile;
  double worst = 0;
  for (int i = 0; i < size; i += 37) {
    for (int j = 0; j <= i; j += 41) {
      double sum = 0;
      for (int k = 0; k <= j; ++k) {
        sum += t[(i / kTile) * n + k / kTile][i % kTile][k % kTile] * t[(j / kTile) * n + k / kTile][j % kTile][k % kTile];
      }
      worst = fmax(worst, fabs(sum - element(i, j)));
    }
  }
  return worst;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 16;
  if (n < 1 || n > 200) {
    fprintf(stderr, "usage: cholesky [tiles in a row, 1 to 200]\n");
    return 2;
  }
  omp_set_max_active_levels(2);
  Tile* t = malloc(sizeof(Tile) * (size_t)n * (size_t)n);
  if (t == NULL) {
    fprintf(stderr, "cholesky: no memory for %d x %d tiles\n", n, n);
    return 1;
  }
  double best = 1e9, error = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < n * kTile; ++i) {
      for (int j = 0; j < n * kTile; ++j) t[(i / kTile) * n + j / kTile][i % kTile][j % kTile] = element(i, j);
    }
    const double start = omp_get_wtime();
    cholesky(n, t);
    best = fmin(best, omp_get_wtime() - start);
    error = fmax(error, error_of(n, t));
  }
  printf("%d x %d matrix, tiles of %d, %d threads: %.3f s, largest error %.1e: %s\n", n * kTile, n * kTile, kTile,
         omp_get_max_threads(), best, error, error < 1e-9 ? "right" : "WRONG");
  free(t);
  return error < 1e-9 ? 0 : 1;
}
