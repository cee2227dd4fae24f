#pragma once
// Random GraphDefs around one op, as a file might contain them, and the outcome of reading,
// planning and running them. A graph depends only on its seed.

#include <cstdint>
#include <string>

namespace tpuest {

enum class Outcome {
  kRan,      // to the end
  kRefused,  // by an Error
  kMemory,   // not enough memory
  kBug       // by any other exception
};

struct RandomRun {
  std::string op;
  Outcome outcome = Outcome::kRan;
  std::string message;  // of the exception
};

// Reads, plans and runs the graph of this seed, and sometimes its gradients.
[[nodiscard]] RandomRun RunRandomGraph(uint64_t seed);
// The graph as protobuf text, and its fed tensors.
[[nodiscard]] std::string RandomGraphText(uint64_t seed);

}  // namespace tpuest
