#pragma once
// Random GraphDefs around one op, as a file might hold them, and what becomes of them when they are
// read, planned and run. A graph follows from its seed alone.

#include <cstdint>
#include <string>

namespace tpuest {

enum class Outcome {
  kRan,      // to the end
  kRefused,  // by an Error
  kMemory,   // for want of memory
  kBug       // by any other exception
};

struct RandomRun {
  std::string op;
  Outcome outcome = Outcome::kRan;
  std::string message;  // of what was thrown
};

// Reads, plans and runs the graph of this seed, and its gradients now and then.
[[nodiscard]] RandomRun RunRandomGraph(uint64_t seed);
// The graph as protobuf text, and the tensors that it is fed.
[[nodiscard]] std::string RandomGraphText(uint64_t seed);

}  // namespace tpuest
