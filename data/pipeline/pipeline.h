#pragma once
// The stream of an input_fn: workers draw the records of the batches one after another, in order,
// and build the batches in parallel. See pipeline.cpp.

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/estimator/contract/seek_way.h"
#include "data/pipeline/batch_builder.h"
#include "data/pipeline/sampler.h"

namespace tpuest::data {

// The batching and threads of a stream. Only batch_size, drop_remainder and pad_last affect the
// contents of batches.
struct PipelineOptions {
  int64_t batch_size = 1;             // rows of the global batch
  bool drop_remainder = false;        // drops a short last batch
  bool pad_last = false;              // pads a short last batch: see InputContext
  int workers = 1;                    // threads
  int64_t prefetch = 2;               // batches being built or waiting; at least 1
  bool endless = false;               // reported to the reader; the sampler has its own flag
  std::optional<int64_t> epoch_size;  // examples, if known
};

// The reader calls Seek and Next from one thread. The first Next starts the workers. A worker's
// error is thrown by the Next that would have returned its batch, and by every later Next until
// Seek.
class Pipeline final : public BatchStream, public TellsSeekWay {
 public:
  // `keep` owns the objects that `context` points to.
  Pipeline(const PipelineOptions& options, BuildContext context, std::unique_ptr<Sampler> sampler,
           std::shared_ptr<const void> keep);
  ~Pipeline() override;

  [[nodiscard]] const StreamSpec& spec() const override { return spec_; }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return options_.epoch_size; }
  [[nodiscard]] bool endless() const override { return options_.endless; }
  void Seek(const StreamPosition& position) override;
  [[nodiscard]] std::string_view seek_way() const override { return sampler_->seek_way(); }
  void TakeRows(int64_t first, int64_t count) override;
  [[nodiscard]] std::optional<Batch> Next() override;
  [[nodiscard]] const std::vector<std::string>& files() const override { return *context_.files; }

 private:
  // The outcome of a batch: the batch itself, an error, or neither at the end of the stream.
  struct Outcome {
    bool ready = false;
    std::optional<Batch> batch;
    std::exception_ptr error;
  };

  void Start();
  void Stop();
  void Work();
  // Takes the next batch's number and draws its records; returns false if no batch is left. Stores
  // an error of the draw in `outcome`.
  [[nodiscard]] bool Draw(int64_t& number, Drawn& drawn, Outcome& outcome);
  void DrawRecords(Drawn& drawn);
  void Put(int64_t number, Outcome outcome);
  [[nodiscard]] Outcome& At(int64_t number);

  PipelineOptions options_;
  std::shared_ptr<const void> keep_;
  BuildContext context_;
  StreamSpec spec_;
  TensorPool pool_;
  std::vector<std::jthread> workers_;

  // Held while records are drawn; taken before mutex_.
  std::mutex draw_mutex_;
  std::unique_ptr<Sampler> sampler_;
  std::optional<StreamPosition> seek_;  // pending: applied before the next draw
  bool drained_ = false;                // the last draw met the end or an error

  std::mutex mutex_;
  std::condition_variable space_;  // for workers: a batch was taken, or stopping_
  std::condition_variable ready_;  // for Next
  std::vector<Outcome> outcomes_;  // ring: batch n is at n mod options_.prefetch
  int64_t drawn_ = 0;              // batches whose records were drawn
  int64_t taken_ = 0;              // batches that Next returned
  bool stopping_ = false;
};

}  // namespace tpuest::data
