#pragma once
// The bounds of ops that write variables (core/graph/update_bounds.h). Each comment explains why
// kSureSteps = 4096 updates within the bounds stay below the largest float, 3.4e38. The formulas
// are those of core/kernels/isa/optimizer.h.

#include "core/graph/update_bounds.h"

namespace tpuest::ops {

inline constexpr double kMostOfVariable = 1e18;
inline constexpr double kMostOfGradient = 1e9;
inline constexpr double kMostOfRate = 1e3;
inline constexpr double kLeastEpsilon = 1e-10;
inline constexpr double kMostOfEpsilon = 1e3;

// A value replaces the variable or is added to it: at most 4e12 in total, 4e18 if a million updates
// hit a row.
inline constexpr InputBounds kAssignInputs[] = {
    Within("resource", kMostOfVariable),
    Within("value", kMostOfGradient),
};
inline constexpr InputBounds kScatterInputs[] = {
    Within("resource", kMostOfVariable),
    Within("updates", kMostOfGradient),
};
inline constexpr UpdateBounds kAssignBounds{kAssignInputs};
inline constexpr UpdateBounds kScatterBounds{kScatterInputs};

// A step is at most 1e12.
inline constexpr InputBounds kGradientDescentInputs[] = {
    Within("var", kMostOfVariable),
    Within("alpha", kMostOfRate),
    Within("delta", kMostOfGradient),
};
inline constexpr UpdateBounds kGradientDescentBounds{kGradientDescentInputs};

// accum grows to at most 5e21 (Keras' form, which includes the rate), and each step moves var by at
// most 1e3 times that: 2e34 if a million updates hit a row.
inline constexpr InputBounds kMomentumInputs[] = {
    Within("var", kMostOfVariable), Within("accum", kMostOfVariable),
    Within("lr", kMostOfRate),      Within("grad", kMostOfGradient),
    Within("momentum", 1),
};
inline constexpr UpdateBounds kMomentumBounds{kMomentumInputs};

// m and v are averages of values within bounds, and the average of non-negative numbers is not
// negative. A step is at most 1e18 * 1e3 / (1 - 0.99) / 1e-10 = 1e33.
inline constexpr InputBounds kAdamInputs[] = {
    Within("var", kMostOfVariable),
    Within("m", kMostOfVariable),
    {"v", 0, kMostOfVariable},
    {"beta1_power", 0, 0.99},
    {"beta2_power", 0, 1},
    Within("lr", kMostOfRate),
    {"beta1", 0, 1},
    {"beta2", 0, 1},
    {"epsilon", kLeastEpsilon, kMostOfEpsilon},
    Within("grad", kMostOfGradient),
};
inline constexpr UpdateBounds kAdamBounds{kAdamInputs};

// ms is an average, like Adam's v. A step is at most 1e9 * 1e3 / sqrt(1e-10) = 1e17, mom 4e26 if a
// million updates hit a row, and var 2e36.
inline constexpr InputBounds kRMSPropInputs[] = {
    Within("var", kMostOfVariable),
    {"ms", 0, kMostOfVariable},
    Within("mom", kMostOfVariable),
    Within("lr", kMostOfRate),
    {"rho", 0, 1},
    Within("momentum", 1),
    {"epsilon", kLeastEpsilon, kMostOfEpsilon},
    Within("grad", kMostOfGradient),
};
inline constexpr UpdateBounds kRMSPropBounds{kRMSPropInputs};

// The gate keeps at least 1e-16 under the root (update_gate.cpp) if epsilon is 1e-10 or more: a
// step is at most 1e20. The gate also checks that a step updates a row once: mom is at most 4e23,
// and var 2e27.
inline constexpr InputBounds kCenteredRMSPropInputs[] = {
    Within("var", kMostOfVariable),  Within("mg", kMostOfVariable),
    {"ms", 0, kMostOfVariable},      Within("mom", kMostOfVariable),
    Within("lr", kMostOfRate),       {"rho", 0, 1},
    Within("momentum", 1),           {"epsilon", kLeastEpsilon, kMostOfEpsilon},
    Within("grad", kMostOfGradient),
};
inline constexpr UpdateBounds kCenteredRMSPropBounds{kCenteredRMSPropInputs,
                                                     /*divides_by_root_of_variance=*/true};

// accum only grows. Without an epsilon a step is at most 1e9 * 1e3 / sqrt(1e-12) = 1e18, with an
// epsilon 1e9 * 1e3 / 1e-10 = 1e22, and var 4e31 if a million updates hit a row.
inline constexpr InputBounds kAdagradInputs[] = {
    Within("var", kMostOfVariable),
    {"accum", 1e-12, kMostOfVariable},
    Within("lr", kMostOfRate),
    Within("grad", kMostOfGradient),
};
inline constexpr InputBounds kAdagradV2Inputs[] = {
    Within("var", kMostOfVariable),  {"accum", 0, kMostOfVariable},
    Within("lr", kMostOfRate),       {"epsilon", kLeastEpsilon, kMostOfEpsilon},
    Within("grad", kMostOfGradient),
};
inline constexpr UpdateBounds kAdagradBounds{kAdagradInputs};
inline constexpr UpdateBounds kAdagradV2Bounds{kAdagradV2Inputs};

// Let R be accum^-lr_power / lr, which only grows, from 1e-9 at least. An update makes var at most
// |linear| / R, and a later one moves it by |grad| / R <= 1e9 at most: by 4e18 if a million updates
// hit a row. linear follows as R var, and rounding adds a factor of 1e7 until R has grown to its
// maximum: R var stays below 1e26 (a large R has a small lr, and so a small var), linear below
// 1e33. A negative l2 could make the divisor 0, and a positive lr_power would let R shrink.
inline constexpr double kMostOfFtrl = 1e6;
inline constexpr InputBounds kFtrlInputs[] = {
    Within("var", kMostOfFtrl),  {"accum", 1e-12, kMostOfFtrl}, Within("linear", kMostOfFtrl),
    Within("grad", kMostOfFtrl), {"lr", 1e-6, kMostOfRate},     {"l1", 0, kMostOfFtrl},
    {"l2", 0, kMostOfFtrl},      {"lr_power", -0.5, 0},
};
inline constexpr UpdateBounds kFtrlBounds{kFtrlInputs};

// Shrinkage multiplies var by 1 - 2 l2_shrinkage / (R + 2 l2) each step, which must not fall below
// -1: R is sqrt(0.05) at least.
inline constexpr InputBounds kFtrlV2Inputs[] = {
    Within("var", kMostOfFtrl),
    {"accum", 0.05, kMostOfFtrl},
    Within("linear", kMostOfFtrl),
    Within("grad", kMostOfFtrl),
    {"lr", 1e-6, 1},
    {"l1", 0, kMostOfFtrl},
    {"l2", 0, kMostOfFtrl},
    {"l2_shrinkage", 0, 0.1},
    {"lr_power", -0.5, 0},
};
inline constexpr UpdateBounds kFtrlV2Bounds{kFtrlV2Inputs};

}  // namespace tpuest::ops
