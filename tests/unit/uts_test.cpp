// The kernel of the unbalanced tree search: its hash and its smallest published tree.

#include "uts/uts.hpp"

#include <gtest/gtest.h>

namespace uts {
namespace {

TEST(Uts, Sha1OfTwentyBytes) {
  // As sha1sum says of 20 zero bytes, and of 19 and the byte 0x13.
  EXPECT_EQ(sha1({0, 0, 0, 0, 0}),
            (Digest{0x6768033e, 0x21646824, 0x7bd031a0, 0xa2d9876d, 0x79818f8f}));
  EXPECT_EQ(rng_init(19), (Digest{0xc6988ab7, 0x0cc9559a, 0xe4d6cba2, 0x54e29a84, 0x5a85f86b}));
}

TEST(Uts, Sha1OfTwentyFourBytes) {
  EXPECT_EQ(rng_spawn({0, 0, 0, 0, 0}, 1),
            (Digest{0xa4fa647d, 0xefa221e1, 0xf720c856, 0xfd893973, 0xd239d227}));
}

TEST(Uts, ProbabilitiesAreBelowOne) {
  EXPECT_EQ(rng_probability({0, 0, 0, 0, 0x80000000}), 0.0);
  EXPECT_LT(rng_probability({0, 0, 0, 0, 0xffffffff}), 1.0);
}

TEST(Uts, RootOfABinomialTreeIsNotCapped) { EXPECT_EQ(child_count(kT3L, root_of(kT3L)), 2000); }

TEST(Uts, T1HasThePublishedCount) {
  EXPECT_TRUE(as_expected(kT1, count_serially(kT1, root_of(kT1))));
}

}  // namespace
}  // namespace uts
