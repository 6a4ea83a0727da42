// sha1.hpp: SHA-1 (FIPS 180-4) of one block, as the unbalanced tree search uses it.
//
// The search hashes messages of 20 and 24 bytes only, so a message is one block of 16 words, the
// padding is a constant, and a digest is kept as five words in host order: nothing is ever
// converted to bytes. It is plain C++ on purpose: every library that is compared runs this code.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace uts {

using Digest = std::array<std::uint32_t, 5>;

namespace detail {

struct Sha1Rounds {
  std::uint32_t w[16];  // the message block; then the last 16 words of the schedule
  std::uint32_t a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;

  template <int t>
  [[gnu::always_inline]] std::uint32_t word() {
    if constexpr (t >= 16) {
      w[t % 16] = std::rotl(w[(t - 3) % 16] ^ w[(t - 8) % 16] ^ w[(t - 14) % 16] ^ w[t % 16], 1);
    }
    return w[t % 16];
  }

  template <int t>
  [[gnu::always_inline]] static std::uint32_t mix(std::uint32_t x, std::uint32_t y,
                                                  std::uint32_t z) {
    if constexpr (t < 20) return (z ^ (x & (y ^ z))) + 0x5a827999;
    if constexpr (t >= 20 && t < 40) return (x ^ y ^ z) + 0x6ed9eba1;
    if constexpr (t >= 40 && t < 60) return ((x & y) | (z & (x | y))) + 0x8f1bbcdc;
    return (x ^ y ^ z) + 0xca62c1d6;
  }

  // The five variables change roles instead of places: no moves.
  template <int t>
  [[gnu::always_inline]] void round(std::uint32_t v, std::uint32_t& x, std::uint32_t y,
                                    std::uint32_t z, std::uint32_t& last) {
    last += std::rotl(v, 5) + mix<t>(x, y, z) + word<t>();
    x = std::rotl(x, 30);
  }

  template <int t>
  [[gnu::always_inline]] void run() {
    if constexpr (t < 80) {
      round<t + 0>(a, b, c, d, e);
      round<t + 1>(e, a, b, c, d);
      round<t + 2>(d, e, a, b, c);
      round<t + 3>(c, d, e, a, b);
      round<t + 4>(b, c, d, e, a);
      run<t + 5>();
    }
  }

  Digest digest() const {
    return {a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476, e + 0xc3d2e1f0};
  }
};

}  // namespace detail

// The digest of the five words of `head`.
inline Digest sha1(const Digest& head) {
  detail::Sha1Rounds s{
      {head[0], head[1], head[2], head[3], head[4], 0x80000000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 160}};
  s.run<0>();
  return s.digest();
}

// The digest of the five words of `head` and `tail`.
inline Digest sha1(const Digest& head, std::uint32_t tail) {
  detail::Sha1Rounds s{
      {head[0], head[1], head[2], head[3], head[4], tail, 0x80000000, 0, 0, 0, 0, 0, 0, 0, 0, 192}};
  s.run<0>();
  return s.digest();
}

}  // namespace uts
