#pragma once
// A plugin writes to the terminal by itself; these keep it from that, or let it.

#include "core/backend/pjrt/plugin.h"

namespace tpuest {

// Asks a plugin by the environment, before it is loaded, to log nothing but what ends the process.
// What the user set stays.
void SetPjrtLogVariables(PjrtLogging logging);

// While one lives, what this process writes to stderr goes nowhere, unless it is loud: for the
// calls during which plugins write lines that no variable turns off. Any thread's lines are lost,
// so these calls are short or made where nothing else has something to say.
class PjrtSilence {
 public:
  explicit PjrtSilence(PjrtLogging logging);
  ~PjrtSilence();
  PjrtSilence(const PjrtSilence&) = delete;
  PjrtSilence& operator=(const PjrtSilence&) = delete;

 private:
  const bool on_;
};

// For who ends this process with a last word: what is written to stderr from now on arrives.
void EndPjrtSilence();

}  // namespace tpuest
