#pragma once
// The classes in which Keras has its losses, and the means of them and of accuracies as metrics.
// Import and export read these names here.

#include <string>
#include <string_view>

namespace tpuest {

struct KerasFunctionClass {
  std::string_view function;  // "mean_squared_error"
  std::string_view loss;      // "MeanSquaredError"; "": it is no loss
  std::string_view metric;    // the class of its mean; "": there is none
};

// The record of a function by any of its names, "mse" or "mean_squared_error"; null: it is none of
// Keras'.
[[nodiscard]] const KerasFunctionClass* FindKerasFunction(std::string_view name);

// The function that a class of Keras' computes, in any of its names: "BinaryCrossentropy" is
// binary_crossentropy. Another class in snake case, and the name of a function as it is.
[[nodiscard]] std::string KerasFunctionIn(std::string_view name);

}  // namespace tpuest
