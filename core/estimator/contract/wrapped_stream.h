#pragma once
// A stream that returns the batches of another stream, inspected or changed.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/estimator/contract/seek_way.h"

namespace tpuest {

// A derived class's Next makes its batch from the inner stream's.
class WrappedStream : public BatchStream, public TellsSeekWay {
 public:
  explicit WrappedStream(std::unique_ptr<BatchStream> of) : of_(std::move(of)) {}
  [[nodiscard]] const StreamSpec& spec() const override { return of_->spec(); }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return of_->epoch_size(); }
  [[nodiscard]] bool endless() const override { return of_->endless(); }
  void Seek(const StreamPosition& position) override { of_->Seek(position); }
  [[nodiscard]] std::string_view seek_way() const override { return SeekWayOf(*of_); }
  void TakeRows(int64_t first, int64_t count) override { of_->TakeRows(first, count); }
  [[nodiscard]] const std::vector<std::string>& files() const override { return of_->files(); }

 protected:
  [[nodiscard]] BatchStream& of() const { return *of_; }

 private:
  const std::unique_ptr<BatchStream> of_;
};

}  // namespace tpuest
