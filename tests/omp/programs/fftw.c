/* fftw.c: transforms of FFTW with OpenMP's threads, by themselves and inside of an OpenMP loop. */
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "check.h"

enum { kSize = 128, kBytes = sizeof(fftw_complex) * kSize * kSize, kImages = 8 };

static void fill(fftw_complex* image, int seed) {
  for (int i = 0; i < kSize * kSize; ++i) image[i] = sin(i * (seed + 1)) + I * cos(i * 0.7 + seed);
}

static int same(const fftw_complex* a, const fftw_complex* b, double scale) {
  double most = 0;
  for (int i = 0; i < kSize * kSize; ++i) most = fmax(most, cabs(a[i] * scale - b[i]));
  return most < 1e-9;
}

static fftw_plan plan_with(int threads, fftw_complex* in, fftw_complex* out, int sign) {
  fftw_plan_with_nthreads(threads);
  return fftw_plan_dft_2d(kSize, kSize, in, out, sign, FFTW_ESTIMATE);
}

int main(void) {
  CHECK(fftw_init_threads());
  fftw_complex *in[kImages], *out[kImages], *back[kImages], *serial[kImages];
  for (int i = 0; i < kImages; ++i) {
    in[i] = fftw_alloc_complex(kSize * kSize);
    out[i] = fftw_alloc_complex(kSize * kSize);
    back[i] = fftw_alloc_complex(kSize * kSize);
    serial[i] = fftw_alloc_complex(kSize * kSize);
    fill(in[i], i);
    const fftw_plan plan = plan_with(1, in[i], serial[i], FFTW_FORWARD);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
  }
  for (int threads = 1; threads <= 6; ++threads) {
    omp_set_num_threads(threads);
    omp_set_max_active_levels(threads % 2 + 1);
    const fftw_plan there = plan_with(threads, in[0], out[0], FFTW_FORWARD);
    const fftw_plan and_back = plan_with(threads, out[0], back[0], FFTW_BACKWARD);
    fftw_execute(there);
    CHECK(same(out[0], serial[0], 1));
    fftw_execute(and_back);
    CHECK(same(in[0], back[0], kSize * kSize));
    memset(out[0], 0, kBytes);
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < kImages; ++i) {
      fftw_execute_dft(there, in[i], out[i]);
      fftw_execute_dft(and_back, out[i], back[i]);
    }
    for (int i = 0; i < kImages; ++i) {
      CHECK(same(out[i], serial[i], 1) && same(in[i], back[i], kSize * kSize));
      memset(out[i], 0, kBytes);
    }
    fftw_destroy_plan(there);
    fftw_destroy_plan(and_back);
  }
  for (int i = 0; i < kImages; ++i) {
    fftw_free(in[i]);
    fftw_free(out[i]);
    fftw_free(back[i]);
    fftw_free(serial[i]);
  }
  fftw_cleanup_threads();
  return check_end();
}
