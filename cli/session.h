#pragma once
// What train, evaluate and predict share: the job joined with its parts, an estimator, the run's
// folder, log and signals.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/console.h"
#include "cli/invocation.h"
#include "cli/job.h"
#include "cli/run_folder.h"
#include "core/estimator/estimator.h"

namespace tpuest::cli {

// The job of an invocation with its flags as overrides: from the job file, or from the run that
// --checkpoint or --model-dir names. Error kUsage with every fault located.
[[nodiscard]] LoadedJob LoadInvocationJob(const Invocation& invocation, config::Sources& sources);

// Runs `body`, and turns whatever it throws into what is printed and the exit code.
int Guarded(const Invocation& invocation, const std::function<int(config::Sources& sources)>& body);

class Session {
 public:
  Session(const Invocation& invocation, config::Sources& sources);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const Job& job() const { return loaded_.job; }
  [[nodiscard]] Estimator& estimator() { return *estimator_; }
  [[nodiscard]] Console& console() { return console_; }
  [[nodiscard]] Log& log() { return console_.log(); }
  // The prefix that --checkpoint means in model_dir; nullopt: the newest.
  [[nodiscard]] std::optional<std::string> Checkpoint() const;

  // Runs `body` between the two writes of run.json, and places the faults that it throws.
  int Run(const std::function<int()>& body);

 private:
  void LogOverrides();
  void WriteJob();

  const Invocation& invocation_;
  SystemClock clock_;
  Console console_;
  LoadedJob loaded_;
  std::unique_ptr<OpRegistry> registry_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Estimator> estimator_;
  std::optional<RunFolder> folder_;
};

}  // namespace tpuest::cli
