// cholesky: a plain OpenMP program, which knows nothing of Weft.
//
// A symmetric matrix is factorised by tiles: one task for each tile operation, ordered by `depend`. The tile operations are
// themselves parallel, as those of a library that was written on its own would be: so teams are opened inside of tasks, many
// more of them than there are cores.
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTile = 48 };
typedef double Tile[kTile][kTile];

// C -= A * transposed(B), rows in parallel.
static void multiply(Tile c, Tile a, Tile b) {
#pragma omp parallel for num_threads(4) schedule(static)
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
#pragma omp parallel for num_threads(4) schedule(static)
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
