#pragma once
// The Keras classes of losses, and of the means of losses and accuracies as metrics. Import and
// export read these names here.

#include <string>
#include <string_view>

namespace tpuest {

struct KerasFunctionClass {
  std::string_view function;  // "mean_squared_error"
  std::string_view loss;      // "MeanSquaredError"; "" if it is not a loss
  std::string_view metric;    // the class of its mean; "" if there is none
};

// Returns the record of a function by any of its names, "mse" or "mean_squared_error"; nullptr if
// Keras has no such function.
[[nodiscard]] const KerasFunctionClass* FindKerasFunction(std::string_view name);

// Returns the function that a class of Keras computes: binary_crossentropy for
// "BinaryCrossentropy". Converts other classes to snake case, and returns the name of a function
// unchanged.
[[nodiscard]] std::string KerasFunctionIn(std::string_view name);

}  // namespace tpuest
