#pragma once
// Suppresses or allows the lines that a plugin itself writes to the terminal.

#include "core/backend/pjrt/plugin.h"

namespace tpuest {

// Sets environment variables, before a plugin is loaded, so that it logs only fatal errors.
// Variables that the user has set stay unchanged.
void SetPjrtLogVariables(PjrtLogging logging);

// While an object of this class exists, and logging is not loud, output of this process to stderr
// is discarded. For calls during which plugins write lines that no variable turns off. Discards the
// lines of all threads, so these calls are short, or no other thread writes at that time.
class PjrtSilence {
 public:
  explicit PjrtSilence(PjrtLogging logging);
  ~PjrtSilence();
  PjrtSilence(const PjrtSilence&) = delete;
  PjrtSilence& operator=(const PjrtSilence&) = delete;

 private:
  const bool on_;
};

// Restores stderr for good. Called before a last message when the process is terminated.
void EndPjrtSilence();

}  // namespace tpuest
