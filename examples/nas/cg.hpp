// cg.hpp: "conjugate gradient": the smallest eigenvalue of a large sparse matrix by inverse iteration, 25 steps of conjugate
// gradients for each solution. One region for each step of the iteration; in it short loops over vectors, with a sum and a barrier
// behind each.
#ifndef NAS_CG_HPP
#define NAS_CG_HPP

#include <algorithm>
#include <utility>
#include <vector>

#include "nas.hpp"

namespace nas {

struct CgProblem {
  int rows;
  int per_vector;  // elements of each vector that the matrix is made of
  double shift;
  double zeta;  // published
};

// By rows: those of row i are [begin[i], begin[i + 1]).
struct SparseMatrix {
  int rows = 0;
  std::vector<int> begin;
  std::vector<int> column;
  std::vector<double> value;
};

// The sum of weighted outer products of random sparse vectors with themselves, and a diagonal.
class MatrixMaker {
 public:
  explicit MatrixMaker(const CgProblem& problem) : x_problem(problem), x_row(static_cast<size_t>(problem.rows)) {
    x_random.next();  // the report's program draws its first zeta there
    while (x_span < problem.rows) x_span *= 2;
    double weight = 1;
    for (int i = 0; i < problem.rows; ++i) {
      add_product(vector_around(i), weight);
      x_row[static_cast<size_t>(i)].push_back({i, kCondition - problem.shift});
      weight *= std::pow(kCondition, 1.0 / problem.rows);
    }
  }

  SparseMatrix made() {
    SparseMatrix matrix;
    matrix.rows = x_problem.rows;
    matrix.begin.push_back(0);
    for (std::vector<Element>& row : x_row) {
      std::sort(row.begin(), row.end(), [](const Element& a, const Element& b) { return a.index < b.index; });
      for (size_t i = 0; i < row.size(); ++i) {
        if (i != 0 && row[i].index == row[i - 1].index) {
          matrix.value.back() += row[i].value;
        } else {
          matrix.column.push_back(row[i].index);
          matrix.value.push_back(row[i].value);
        }
      }
      matrix.begin.push_back(static_cast<int>(matrix.column.size()));
    }
    return matrix;
  }

 private:
  static constexpr double kCondition = 0.1;
  struct Element {
    int index;
    double value;
  };
  using Vector = std::vector<Element>;

  // Random elements at random places, no place twice; and 1/2 at place i.
  Vector vector_around(int i) {
    Vector vector;
    const auto at = [&vector](int index) {
      return std::find_if(vector.begin(), vector.end(), [index](const Element& e) { return e.index == index; });
    };
    while (static_cast<int>(vector.size()) < x_problem.per_vector) {
      const double value = x_random.next();
      const int index = static_cast<int>(x_random.next() * x_span);
      if (index < x_problem.rows && at(index) == vector.end()) vector.push_back({index, value});
    }
    if (const auto there = at(i); there != vector.end()) {
      there->value = 0.5;
    } else {
      vector.push_back({i, 0.5});
    }
    return vector;
  }

  void add_product(const Vector& vector, double weight) {
    for (const Element& a : vector) {
      for (const Element& b : vector) x_row[static_cast<size_t>(a.index)].push_back({b.index, weight * a.value * b.value});
    }
  }

  const CgProblem& x_problem;
  Random x_random{Random::kOtherSeed};
  int x_span = 1;  // the power of two not below the number of rows
  std::vector<Vector> x_row;
};

class ConjugateGradient {
 public:
  explicit ConjugateGradient(SparseMatrix matrix)
      : x_matrix(std::move(matrix)), x_n(x_matrix.rows), x_x(size()), x_z(size()), x_r(size()), x_p(size()), x_q(size()) {}

  void start() {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < x_n; ++i) x_x[at(i)] = 1;
  }

  // One step of the inverse iteration. Returns x * z, where z solves the matrix * z = x; then x := z / |z|.
  double step() {
    double product = 0;
    double square = 0;
#pragma omp parallel
    {
      solve();
#pragma omp for schedule(static) reduction(+ : product, square)
      for (int i = 0; i < x_n; ++i) {
        product += x_x[at(i)] * x_z[at(i)];
        square += x_z[at(i)] * x_z[at(i)];
      }
      const double scale = 1 / std::sqrt(square);
#pragma omp for schedule(static)
      for (int i = 0; i < x_n; ++i) x_x[at(i)] = scale * x_z[at(i)];
    }
    return product;
  }

 private:
  static constexpr int kSteps = 25;
  static size_t at(int i) { return static_cast<size_t>(i); }
  size_t size() const { return static_cast<size_t>(x_n); }

  // By each thread of the region.
  void solve() {
#pragma omp single
    x_sums[0] = x_sums[1] = {};
    double rho = 0;
#pragma omp for schedule(static) nowait
    for (int i = 0; i < x_n; ++i) {
      x_z[at(i)] = 0;
      x_r[at(i)] = x_p[at(i)] = x_x[at(i)];
      rho += x_x[at(i)] * x_x[at(i)];
    }
    rho = sum(rho, x_sums[1].square);
    for (int step = 0; step < kSteps; ++step) rho = improve(rho, step % 2);
  }

  // Returns the square of the new residual.
  double improve(double rho, int turn) {
    const double* const p = x_p.data();
    const double* const value = x_matrix.value.data();
    const int* const column = x_matrix.column.data();
    double product = 0;
#pragma omp for schedule(static) nowait
    for (int i = 0; i < x_n; ++i) {
      double sum = 0;
      for (int k = x_matrix.begin[at(i)]; k < x_matrix.begin[at(i) + 1]; ++k) sum += value[k] * p[column[k]];
      x_q[at(i)] = sum;
      product += sum * p[i];
    }
    const double alpha = rho / sum(product, x_sums[turn].product);
    // Everybody has seen those of the step before, and nobody adds to them before two more barriers.
#pragma omp single nowait
    x_sums[1 - turn] = {};
    double square = 0;
#pragma omp for schedule(static) nowait
    for (int i = 0; i < x_n; ++i) {
      x_z[at(i)] += alpha * x_p[at(i)];
      x_r[at(i)] -= alpha * x_q[at(i)];
      square += x_r[at(i)] * x_r[at(i)];
    }
    square = sum(square, x_sums[turn].square);
    const double beta = square / rho;
#pragma omp for schedule(static)
    for (int i = 0; i < x_n; ++i) x_p[at(i)] = x_r[at(i)] + beta * x_p[at(i)];
    return square;
  }

  // Of all threads' parts.
  static double sum(double part, double& whole) {
#pragma omp atomic
    whole += part;
#pragma omp barrier
    return whole;
  }

  SparseMatrix x_matrix;
  int x_n;
  Array<double> x_x, x_z, x_r, x_p, x_q;
  struct Sums {
    double product = 0;
    double square = 0;
  };
  Sums x_sums[2];  // of this step, and of the one before
};

inline Outcome cg(Class size) {
  static constexpr CgProblem kProblems[] = {
      {1400, 7, 10, 8.5971775078648}, {7000, 8, 12, 10.362595087124}, {14000, 11, 20, 17.130235054029}};
  const CgProblem& problem = kProblems[static_cast<size_t>(size)];
  constexpr int kIterations = 15;
  ConjugateGradient iteration(MatrixMaker(problem).made());
  iteration.start();
  iteration.step();  // not measured
  iteration.start();
  const Watch watch;
  double product = 0;
  for (int i = 0; i < kIterations; ++i) product = iteration.step();
  const Spent spent = watch.spent();
  const double zeta = problem.shift + 1 / product;
  return {spent, "zeta", zeta, problem.zeta, error_of(zeta, problem.zeta), 1e-10};
}

}  // namespace nas

#endif  // NAS_CG_HPP
