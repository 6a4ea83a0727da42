// omp_cholesky: the factorisation of examples/cholesky: a task for each operation on tiles, each a
// parallel loop; ns for `n` × `n` tiles.
#include "cholesky/tiles.h"

#include <cmath>

#include "omp.hpp"

namespace {

double element(int i, int j) { return i == j ? 1000.0 : 1.0 / (1 + std::abs(i - j)); }

struct Matrix {
  explicit Matrix(int n) : n(n), tiles(static_cast<size_t>(n) * static_cast<size_t>(n)) {}

  double& at(int i, int j) {
    return tiles[static_cast<size_t>(i / kTile * n + j / kTile)].rows[i % kTile][j % kTile];
  }

  void fill() {
    for (int i = 0; i < n * kTile; ++i) {
      for (int j = 0; j < n * kTile; ++j) {
        at(i, j) = element(i, j);
      }
    }
  }

  // Whether this, times itself transposed, is what it was filled with, as far as looked at.
  bool right() {
    for (int i = 0; i < n * kTile; i += 37) {
      for (int j = 0; j <= i; j += 41) {
        double sum = 0;
        for (int k = 0; k <= j; ++k) {
          sum += at(i, k) * at(j, k);
        }
        if (!(std::abs(sum - element(i, j)) < 1e-9)) {
          return false;
        }
      }
    }
    return true;
  }

  struct Rows {
    Tile rows;
  };
  int n;
  std::vector<Rows> tiles;
};

bench::Sample measure(const bench::Setup& setup) {
  Matrix matrix(static_cast<int>(setup.number("n")));
  matrix.fill();
  cholesky(matrix.n, &matrix.tiles[0].rows);  // warm-up
  bench::Sample total;
  int runs = 0;
  do {
    matrix.fill();
    const bench::Sample one = bench::time_once([&] { cholesky(matrix.n, &matrix.tiles[0].rows); });
    bench::check(matrix.right(), "the factors");
    total.value += one.value;
    total.cpu_s += one.cpu_s;
    ++runs;
  } while (total.value < setup.seconds());
  total.value *= 1e9 / runs;
  total.cpu_s /= runs;
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::omp_main(argc, argv, {{{"n", "12"}, {"cpus", "2"}}, 2, measure});
}
