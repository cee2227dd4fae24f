#include "core/backend/threads.h"

#include <omp.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

namespace tpuest {
namespace {

// Polls an atomic for a few microseconds before it sleeps on it, because phases follow each other
// quickly.
template <class T>
void WaitWhile(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < 2000; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    __builtin_ia32_pause();
  }
  value.wait(old, std::memory_order_acquire);
}

// Some oneDNN kernels (sgemm for AVX2) let the stack pointer point into a heap buffer while they
// compute, so a signal handler's frame would overwrite the memory below. Threads that compute
// therefore block signals while an object of this class exists. The main thread takes them; its
// handlers have their own stack (cli/host/signals.cpp).
class WithoutSignals {
 public:
  WithoutSignals() {
    if (::gettid() == ::getpid()) return;
    sigset_t signals;
    sigfillset(&signals);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&signals, fault);
    }
    is_blocked_ = pthread_sigmask(SIG_BLOCK, &signals, &before_) == 0;
  }
  ~WithoutSignals() {
    if (is_blocked_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
  bool is_blocked_ = false;
};

}  // namespace

ThreadTeam::ThreadTeam(int threads) {
  omp_set_num_threads(1);
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { Serve(i); });
  } catch (...) {
    Stop();  // the system refuses another thread; ends the waiting threads
    throw;
  }
}

ThreadTeam::~ThreadTeam() { Stop(); }

// Workers wait for round_ to change and then check stop_.
void ThreadTeam::Stop() {
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// work_, tasks_ and next_ are written before round_ increases, which publishes them to the workers.
// running_ returns to 0 once every worker has found no task left, so no thread reads them after
// this returns.
void ThreadTeam::ForEach(int tasks, const std::function<void(int, int)>& work) {
  const WithoutSignals without;
  if (tasks <= 1 || workers_.empty()) {
    for (int task = 0; task < tasks; ++task) work(task, 0);
    return;
  }
  work_ = &work;
  tasks_ = tasks;
  next_ = 0;
  running_ = static_cast<int>(workers_.size());
  ++round_;
  round_.notify_all();
  TakeTasks(0);
  while (true) {
    const int running = running_.load(std::memory_order_acquire);
    if (running == 0) break;
    WaitWhile(running_, running);
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// A worker runs each round once: the next round cannot begin before the worker has decremented
// running_.
void ThreadTeam::Serve(int thread) {
  const WithoutSignals without;
  omp_set_num_threads(1);
  uint32_t seen = 0;
  while (true) {
    WaitWhile(round_, seen);
    seen = round_.load(std::memory_order_acquire);
    if (stop_) return;
    TakeTasks(thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_all();
  }
}

void ThreadTeam::TakeTasks(int thread) {
  while (true) {
    const int task = next_.fetch_add(1, std::memory_order_relaxed);
    if (task >= tasks_) return;
    try {
      (*work_)(task, thread);
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_ || task < failed_) {
        error_ = std::current_exception();
        failed_ = task;
      }
      next_ = tasks_;  // all tasks before this one are taken already
    }
  }
}

}  // namespace tpuest
