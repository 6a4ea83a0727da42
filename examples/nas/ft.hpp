// ft.hpp: "Fourier transform": a diffusion equation solved in the frequency domain, by a 3-D FFT there and one back for each step.
// A few large regions that move all of the memory.
#ifndef NAS_FT_HPP
#define NAS_FT_HPP

#include <algorithm>
#include <numbers>
#include <utility>
#include <vector>

#include "nas.hpp"

namespace nas {

// std::complex looks for infinities when it multiplies.
struct Complex {
  double re, im;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  friend Complex operator*(double a, Complex b) { return {a * b.re, a * b.im}; }
};

enum class Direction { kThere, kBack };

// Transforms of n points, several at once: theirs stand beside each other.
class Fft {
 public:
  static constexpr int kTogether = 8;

  explicit Fft(int n) : x_n(n), x_roots(static_cast<size_t>(n) / 2) {
    for (int i = 0; i < n / 2; ++i) {
      const double angle = -2 * std::numbers::pi * i / n;
      x_roots[static_cast<size_t>(i)] = {std::cos(angle), std::sin(angle)};
    }
  }
  int n() const { return x_n; }

  // Not scaled. Stockham's: each pass halves the number of points of a transform and doubles that of transforms; there is no
  // reordering. The result is in what is returned, `data` or `other`.
  Complex* transform(Direction direction, Complex* data, Complex* other) const {
    int together = kTogether;
    for (int half = x_n / 2; half >= 1; half /= 2, together *= 2) {
      for (int i = 0; i < half; ++i) {
        Complex root = x_roots[static_cast<size_t>(i) * static_cast<size_t>(x_n / 2 / half)];
        if (direction == Direction::kBack) root.im = -root.im;
        const Complex* const low = data + i * together;
        const Complex* const high = low + half * together;
        Complex* const even = other + 2 * i * together;
        Complex* const odd = even + together;
        for (int k = 0; k < together; ++k) {
          const Complex a = low[k];
          const Complex b = high[k];
          even[k] = a + b;
          odd[k] = root * (a - b);
        }
      }
      std::swap(data, other);
    }
    return data;
  }

 private:
  int x_n;
  std::vector<Complex> x_roots;
};

struct Sizes {
  int x, y, z;
};

class Field {
 public:
  explicit Field(const Sizes& sizes) : x_sizes(sizes), x_data(static_cast<size_t>(points())) {}
  const Sizes& sizes() const { return x_sizes; }
  long points() const { return static_cast<long>(x_sizes.x) * x_sizes.y * x_sizes.z; }
  // The points with these two numbers, by x.
  Complex* line(int z, int y) { return x_data.data() + start(z, y); }
  const Complex* line(int z, int y) const { return x_data.data() + start(z, y); }

  void fill_with_random() {
#pragma omp parallel for schedule(static)
    for (int z = 0; z < x_sizes.z; ++z) {
      const long plane = static_cast<long>(x_sizes.x) * x_sizes.y;
      Random random(Random::kOtherSeed);
      random.skip(static_cast<uint64_t>(2 * plane * z));
      Complex* const points = line(z, 0);
      for (long i = 0; i < plane; ++i) {
        points[i].re = random.next();
        points[i].im = random.next();
      }
    }
  }

 private:
  long start(int z, int y) const { return (static_cast<long>(z) * x_sizes.y + y) * x_sizes.x; }

  Sizes x_sizes;
  Array<Complex> x_data;
};

// The waves along one direction.
struct Axis {
  static constexpr double kDiffusion = 1e-6;
  Fft fft;
  std::vector<double> decay;  // of each wave, in a step of time

  explicit Axis(int n) : fft(n) {
    for (int i = 0; i < n; ++i) {
      const double wave = i < n / 2 ? i : i - n;
      decay.push_back(std::exp(-4 * kDiffusion * std::numbers::pi * std::numbers::pi * wave * wave));
    }
  }
};

class Spectrum {
 public:
  explicit Spectrum(const Sizes& sizes) : x_x(sizes.x), x_y(sizes.y), x_z(sizes.z) {}

  // In place, in all three directions.
  void transform(Direction direction, Field& field) const {
    const Sizes n = field.sizes();
    const int plane = n.x * n.y;
#pragma omp parallel
    {
      Array<Complex> buffers(2 * static_cast<size_t>(Fft::kTogether) * static_cast<size_t>(std::max({n.x, n.y, n.z})));
#pragma omp for schedule(static)
      for (int z = 0; z < n.z; ++z) {
        for (int y = 0; y < n.y; y += Fft::kTogether) lines(x_x.fft, direction, field.line(z, y), 1, n.x, buffers);
        for (int x = 0; x < n.x; x += Fft::kTogether) lines(x_y.fft, direction, field.line(z, 0) + x, n.x, 1, buffers);
      }
#pragma omp for schedule(static)
      for (int y = 0; y < n.y; ++y) {
        for (int x = 0; x < n.x; x += Fft::kTogether) lines(x_z.fft, direction, field.line(0, y) + x, plane, 1, buffers);
      }
    }
  }

  // One step of time; `shown` gets a copy.
  void evolve(Field& field, Field& shown) const {
    const Sizes n = field.sizes();
#pragma omp parallel for collapse(2) schedule(static)
    for (int z = 0; z < n.z; ++z) {
      for (int y = 0; y < n.y; ++y) {
        const double outside = x_z.decay[static_cast<size_t>(z)] * x_y.decay[static_cast<size_t>(y)];
        const double* const inside = x_x.decay.data();
        Complex* const points = field.line(z, y);
        Complex* const copy = shown.line(z, y);
        for (int x = 0; x < n.x; ++x) copy[x] = points[x] = (outside * inside[x]) * points[x];
      }
    }
  }

 private:
  // kTogether lines: the points of one are `step` from each other, the lines `apart`.
  static void lines(const Fft& fft, Direction direction, Complex* first, int step, int apart, Array<Complex>& buffers) {
    constexpr int kLines = Fft::kTogether;
    Complex* const in = buffers.data();
    Complex* const other = in + kLines * fft.n();
    for (int i = 0; i < fft.n(); ++i) {
      for (int k = 0; k < kLines; ++k) in[i * kLines + k] = first[static_cast<long>(i) * step + static_cast<long>(k) * apart];
    }
    const Complex* const out = fft.transform(direction, in, other);
    for (int i = 0; i < fft.n(); ++i) {
      for (int k = 0; k < kLines; ++k) first[static_cast<long>(i) * step + static_cast<long>(k) * apart] = out[i * kLines + k];
    }
  }

  Axis x_x, x_y, x_z;
};

// Of 1024 points here and there.
inline Complex checksum(const Field& field) {
  const Sizes n = field.sizes();
  double re = 0;
  double im = 0;
#pragma omp parallel for schedule(static) reduction(+ : re, im)
  for (int i = 1; i <= 1024; ++i) {
    const Complex& point = field.line(5 * i % n.z, 3 * i % n.y)[i % n.x];
    re += point.re;
    im += point.im;
  }
  return (1 / static_cast<double>(field.points())) * Complex{re, im};
}

inline Outcome ft(Class size) {
  constexpr int kSteps = 6;
  struct Problem {
    Sizes sizes;
    Complex sums[kSteps];  // published
  };
  static constexpr Problem kProblems[] = {{{64, 64, 64},
                                           {{554.6087004964, 484.5363331978},
                                            {554.6385409189, 486.5304269511},
                                            {554.6148406171, 488.3910722336},
                                            {554.5423607415, 490.1273169046},
                                            {554.4255039624, 491.7475857993},
                                            {554.2683411902, 493.2597244941}}},
                                          {{128, 128, 32},
                                           {{567.3612178944, 529.3246849175},
                                            {563.1436885271, 528.2149986629},
                                            {559.4024089970, 527.0996558037},
                                            {556.0698047020, 526.0027904925},
                                            {553.0898991250, 524.9400845633},
                                            {550.4159734538, 523.9212247086}}},
                                          {{256, 256, 128},
                                           {{504.6735008193, 511.4047905510},
                                            {505.9412319734, 509.8809666433},
                                            {506.9376896287, 509.8144042213},
                                            {507.7892868474, 510.1336130759},
                                            {508.5233095391, 510.4914655194},
                                            {509.1487099959, 510.7917842803}}}};
  const Problem& problem = kProblems[static_cast<size_t>(size)];
  const Spectrum spectrum(problem.sizes);
  Field field(problem.sizes);
  Field shown(problem.sizes);
  field.fill_with_random();  // not measured: its pages
  spectrum.evolve(field, shown);
  spectrum.transform(Direction::kBack, shown);

  Complex sums[kSteps];
  const Watch watch;
  field.fill_with_random();
  spectrum.transform(Direction::kThere, field);
  for (Complex& sum : sums) {
    spectrum.evolve(field, shown);
    spectrum.transform(Direction::kBack, shown);
    sum = checksum(shown);
  }
  const Spent spent = watch.spent();

  const auto size_of = [](Complex c) { return std::hypot(c.re, c.im); };
  Outcome outcome{spent, "checksum", size_of(sums[kSteps - 1]), size_of(problem.sums[kSteps - 1]), 0, 1e-12};
  for (int i = 0; i < kSteps; ++i) {
    const double error = size_of(sums[i] - problem.sums[i]) / size_of(problem.sums[i]);
    if (!(error <= outcome.error)) outcome.error = error;
  }
  return outcome;
}

}  // namespace nas

#endif  // NAS_FT_HPP
