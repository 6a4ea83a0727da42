// mg.hpp: "multigrid": V-cycles for a Poisson equation on a periodic cube. A region for each sweep over a grid, from millions of
// points down to eight: on the small ones opening the region is all the work there is.
#ifndef NAS_MG_HPP
#define NAS_MG_HPP

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "nas.hpp"

namespace nas {

// n^3 points, 1 to n in each direction; 0 and n + 1 repeat those at the other side.
class Grid {
 public:
  static constexpr int kLargest = 256;

  explicit Grid(int n) : x_n(n), x_data(side() * side() * side()) { clear(); }
  int n() const { return x_n; }
  // The points with these two numbers; the third counts from the pointer on.
  double* line(int z, int y) { return x_data.data() + start(z, y); }
  const double* line(int z, int y) const { return x_data.data() + start(z, y); }

  void clear() {
#pragma omp parallel for schedule(static)
    for (int z = 0; z <= x_n + 1; ++z) std::fill_n(line(z, 0), side() * side(), 0.0);
  }

  // After the inner points of a plane have changed.
  void repeat_in_plane(int z) {
    for (int y = 1; y <= x_n; ++y) {
      double* const points = line(z, y);
      points[0] = points[x_n];
      points[x_n + 1] = points[1];
    }
    std::copy_n(line(z, x_n), side(), line(z, 0));
    std::copy_n(line(z, 1), side(), line(z, x_n + 1));
  }
  // After all planes have: a part of those in front and behind.
  void repeat_across(int y) {
    std::copy_n(line(x_n, y), side(), line(0, y));
    std::copy_n(line(1, y), side(), line(x_n + 1, y));
  }

 private:
  size_t side() const { return static_cast<size_t>(x_n) + 2; }
  size_t start(int z, int y) const { return (static_cast<size_t>(z) * side() + static_cast<size_t>(y)) * side(); }

  int x_n;
  Array<double> x_data;
};

// Weights of a point, and of those round it that share a face with it, an edge, a corner.
using Stencil = std::array<double, 4>;

// A line of points and what is round it; the sums are taken once and used for three points.
class Neighbours {
 public:
  void look(const Grid& grid, int z, int y) {
    x_here = grid.line(z, y);
    const double* const beside[] = {grid.line(z, y - 1), grid.line(z, y + 1), grid.line(z - 1, y), grid.line(z + 1, y)};
    const double* const across[] = {grid.line(z - 1, y - 1), grid.line(z - 1, y + 1), grid.line(z + 1, y - 1),
                                    grid.line(z + 1, y + 1)};
    for (int x = 0; x <= grid.n() + 1; ++x) {
      x_beside[x] = beside[0][x] + beside[1][x] + beside[2][x] + beside[3][x];
      x_across[x] = across[0][x] + across[1][x] + across[2][x] + across[3][x];
    }
  }
  double weighted(const Stencil& by, int x) const {
    return by[0] * x_here[x] + by[1] * (x_here[x - 1] + x_here[x + 1] + x_beside[x]) +
           by[2] * (x_beside[x - 1] + x_beside[x + 1] + x_across[x]) + by[3] * (x_across[x - 1] + x_across[x + 1]);
  }

 private:
  const double* x_here;
  double x_beside[Grid::kLargest + 2];
  double x_across[Grid::kLargest + 2];
};

// All inner points: fill(neighbours, z, y) does a line of them.
template <class Fill>
void sweep(Grid& into, Fill fill) {
  const int n = into.n();
#pragma omp parallel
  {
    Neighbours neighbours;
#pragma omp for schedule(static)
    for (int z = 1; z <= n; ++z) {
      for (int y = 1; y <= n; ++y) fill(neighbours, z, y);
      into.repeat_in_plane(z);
    }
#pragma omp for schedule(static)
    for (int y = 0; y <= n + 1; ++y) into.repeat_across(y);
  }
}

// into := from - (stencil of grid). `into` may be `from`.
inline void subtract(const Stencil& by, const Grid& grid, const Grid& from, Grid& into) {
  sweep(into, [&](Neighbours& neighbours, int z, int y) {
    neighbours.look(grid, z, y);
    const double* const old = from.line(z, y);
    double* const points = into.line(z, y);
    for (int x = 1; x <= into.n(); ++x) points[x] = old[x] - neighbours.weighted(by, x);
  });
}

// into += (stencil of grid).
inline void add(const Stencil& by, const Grid& grid, Grid& into) {
  sweep(into, [&](Neighbours& neighbours, int z, int y) {
    neighbours.look(grid, z, y);
    double* const points = into.line(z, y);
    for (int x = 1; x <= into.n(); ++x) points[x] += neighbours.weighted(by, x);
  });
}

// To a grid of half as many points in each direction.
inline void restrict_to(Grid& coarse, const Grid& fine) {
  static constexpr Stencil kWeights = {1.0 / 2, 1.0 / 4, 1.0 / 8, 1.0 / 16};
  sweep(coarse, [&](Neighbours& neighbours, int z, int y) {
    neighbours.look(fine, 2 * z, 2 * y);
    double* const points = coarse.line(z, y);
    for (int x = 1; x <= coarse.n(); ++x) points[x] = neighbours.weighted(kWeights, 2 * x);
  });
}

// fine += coarse; between points, their mean.
inline void add_interpolated(const Grid& coarse, Grid& fine) {
  const int n = coarse.n();
#pragma omp parallel for schedule(static)
  for (int z = 0; z <= 2 * n + 1; ++z) {
    for (int y = 0; y <= 2 * n + 1; ++y) {
      const double* const a = coarse.line(z / 2, y / 2);
      const double* const b = coarse.line(z / 2, (y + 1) / 2);
      const double* const c = coarse.line((z + 1) / 2, y / 2);
      const double* const d = coarse.line((z + 1) / 2, (y + 1) / 2);
      double* const points = fine.line(z, y);
      double last = a[0] + b[0] + c[0] + d[0];
      for (int x = 0; x <= n; ++x) {
        const double next = a[x + 1] + b[x + 1] + c[x + 1] + d[x + 1];
        points[2 * x] += last / 4;
        points[2 * x + 1] += (last + next) / 8;
        last = next;
      }
    }
  }
}

// +1 where the ten largest of random numbers are, -1 where the ten smallest are, 0 elsewhere.
inline void charge(Grid& grid) {
  struct Point {
    double drawn;
    int z, y, x;
    bool operator<(const Point& other) const { return drawn < other.drawn; }
  };
  constexpr size_t kCharges = 10;
  const int n = grid.n();
  grid.clear();
  std::vector<Point> points;
#pragma omp parallel for schedule(static)
  for (int z = 1; z <= n; ++z) {
    Random random(Random::kOtherSeed);
    random.skip(static_cast<uint64_t>(z - 1) * static_cast<uint64_t>(n) * static_cast<uint64_t>(n));
    std::vector<Point> plane;
    for (int y = 1; y <= n; ++y) {
      for (int x = 1; x <= n; ++x) plane.push_back({random.next(), z, y, x});
    }
    std::nth_element(plane.begin(), plane.begin() + kCharges, plane.end());
    std::nth_element(plane.begin() + kCharges, plane.end() - kCharges, plane.end());
#pragma omp critical
    {
      points.insert(points.end(), plane.begin(), plane.begin() + kCharges);
      points.insert(points.end(), plane.end() - kCharges, plane.end());
    }
  }
  std::sort(points.begin(), points.end());
  for (size_t i = 0; i < kCharges; ++i) {
    const Point& low = points[i];
    const Point& high = points[points.size() - 1 - i];
    grid.line(low.z, low.y)[low.x] = -1;
    grid.line(high.z, high.y)[high.x] = 1;
  }
  for (int z = 1; z <= n; ++z) grid.repeat_in_plane(z);
  for (int y = 0; y <= n + 1; ++y) grid.repeat_across(y);
}

class Multigrid {
 public:
  explicit Multigrid(int n) : x_charges(n) {
    for (int size = 2; size <= n; size *= 2) {
      x_solution.emplace_back(size);
      x_residual.emplace_back(size);
    }
    charge(x_charges);
  }

  void start() {
    x_solution.back().clear();
    find_residual();
  }

  void cycle() {
    const size_t top = x_solution.size() - 1;
    for (size_t level = top; level > 0; --level) restrict_to(x_residual[level - 1], x_residual[level]);
    x_solution[0].clear();
    add(kSmoother, x_residual[0], x_solution[0]);
    for (size_t level = 1; level < top; ++level) {
      Grid& solution = x_solution[level];
      Grid& residual = x_residual[level];
      solution.clear();
      add_interpolated(x_solution[level - 1], solution);
      subtract(kOperator, solution, residual, residual);
      add(kSmoother, residual, solution);
    }
    add_interpolated(x_solution[top - 1], x_solution[top]);
    find_residual();
    add(kSmoother, x_residual[top], x_solution[top]);
    find_residual();
  }

  double norm() const {
    const Grid& residual = x_residual.back();
    const int n = residual.n();
    double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (int z = 1; z <= n; ++z) {
      for (int y = 1; y <= n; ++y) {
        const double* const points = residual.line(z, y);
        for (int x = 1; x <= n; ++x) sum += points[x] * points[x];
      }
    }
    return std::sqrt(sum / (static_cast<double>(n) * n * n));
  }

 private:
  static constexpr Stencil kOperator = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
  static constexpr Stencil kSmoother = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};

  void find_residual() { subtract(kOperator, x_solution.back(), x_charges, x_residual.back()); }

  Grid x_charges;
  std::vector<Grid> x_solution;  // by size, the coarsest first
  std::vector<Grid> x_residual;
};

inline Outcome mg(Class size) {
  struct Problem {
    int n;
    double norm;  // published
  };
  static constexpr Problem kProblems[] = {{32, 0.5307707005734e-4}, {128, 0.6467329375339e-5}, {256, 0.2433365309069e-5}};
  const Problem& problem = kProblems[static_cast<size_t>(size)];
  constexpr int kCycles = 4;
  Multigrid multigrid(problem.n);
  multigrid.start();
  multigrid.cycle();  // not measured
  const Watch watch;
  multigrid.start();
  for (int i = 0; i < kCycles; ++i) multigrid.cycle();
  const double norm = multigrid.norm();
  const Spent spent = watch.spent();
  return {spent, "norm", norm, problem.norm, error_of(norm, problem.norm), 1e-8};
}

}  // namespace nas

#endif  // NAS_MG_HPP
