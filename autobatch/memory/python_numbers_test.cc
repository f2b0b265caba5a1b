#include "autobatch/memory/python_numbers.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace autobatch {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(PythonInt, Fractions_AreCutTowardsZero) {
  EXPECT_EQ(*PythonInt(2.9), 2);
  EXPECT_EQ(*PythonInt(-2.9), -2);
  EXPECT_FALSE(std::signbit(*PythonInt(-0.5)));
  EXPECT_EQ(*PythonInt(1e300), 1e300);
}

TEST(PythonRound, Halves_GoToEven) {
  EXPECT_EQ(*PythonRound(0.5), 0);
  EXPECT_EQ(*PythonRound(1.5), 2);
  EXPECT_EQ(*PythonRound(2.5), 2);
  EXPECT_EQ(*PythonRound(2.51), 3);
}

TEST(PythonInt, InfinityAndNan_AreErrorsInPythonsWords) {
  EXPECT_EQ(PythonInt(kInfinity).status().message(), "cannot convert float infinity to integer");
  EXPECT_EQ(PythonRound(-kInfinity).status().message(), "cannot convert float infinity to integer");
  EXPECT_EQ(PythonRound(std::nan("")).status().message(), "cannot convert float NaN to integer");
}

TEST(PythonRepr, Floats_AreShortestAndAlwaysFloats) {
  EXPECT_EQ(PythonRepr(60), "60.0");
  EXPECT_EQ(PythonRepr(0.07 * 100), "7.000000000000001");
  EXPECT_EQ(PythonRepr(-0.0), "-0.0");
  EXPECT_EQ(PythonRepr(1e15), "1000000000000000.0");
  EXPECT_EQ(PythonRepr(1e16), "1e+16");
  EXPECT_EQ(PythonRepr(0.0001), "0.0001");
  EXPECT_EQ(PythonRepr(0.00001), "1e-05");
  EXPECT_EQ(PythonRepr(kInfinity), "inf");
  EXPECT_EQ(PythonRepr(-std::nan("")), "nan");
}

TEST(PythonFixed, NumbersAndWords_ReadAsPythonWritesThem) {
  EXPECT_EQ(PythonFixed(2.675, 2), "2.67");
  EXPECT_EQ(PythonFixed(0.5, 0), "0");
  EXPECT_EQ(PythonFixed(1e22, 0), "10000000000000000000000");
  EXPECT_EQ(PythonFixed(-std::nan(""), 2), "nan");
  EXPECT_EQ(PythonFixed(-kInfinity, 2), "-inf");
}

TEST(PythonGeneral, NumbersAndWords_ReadAsPythonWritesThem) {
  EXPECT_EQ(PythonGeneral(0, 4), "0");
  EXPECT_EQ(PythonGeneral(12345, 4), "1.234e+04");
  EXPECT_EQ(PythonGeneral(16.4888, 4), "16.49");
  EXPECT_EQ(PythonGeneral(std::nan(""), 4), "nan");
}

}  // namespace
}  // namespace autobatch
