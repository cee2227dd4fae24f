#include "core/estimator/step/model/label_check.h"

#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// One batch of two rows; the second row is record 7 of "a.csv".
class OneBatch final : public BatchStream {
 public:
  explicit OneBatch(nn::Labels<Tensor> labels) {
    batch_.labels = std::move(labels);
    batch_.examples = 2;
    batch_.rows = {{0, 3}, {0, 7}};
  }
  [[nodiscard]] const StreamSpec& spec() const override { return spec_; }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override { return 2; }
  [[nodiscard]] bool endless() const override { return false; }
  void Seek(const StreamPosition& /*position*/) override {}
  [[nodiscard]] std::optional<Batch> Next() override { return batch_; }
  [[nodiscard]] const std::vector<std::string>& files() const override { return files_; }

 private:
  StreamSpec spec_;
  Batch batch_;
  std::vector<std::string> files_ = {"a.csv"};
};

using LabelTensors = std::map<std::string, Tensor>;
using Ranges = std::map<std::string, nn::LabelRange>;

const nn::LabelRange kBit{.min = 0, .max = 1, .below = "too low", .above = "too high"};

std::string MessageOf(const nn::Labels<Tensor>& labels, const nn::Labels<nn::LabelRange>& ranges) {
  const InputFn input = [&](const InputContext&) { return std::make_unique<OneBatch>(labels); };
  try {
    (void)WithLabelCheck(input, ranges)({})->Next();
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("an error names the record of a label out of range") {
  CHECK(MessageOf(Tensor::Of<int32_t>({2}, {0, 1}), kBit).empty());
  CHECK(MessageOf(Tensor::Of<int32_t>({2}, {0, 2}), kBit) ==
        "a.csv: record 7: label is 2: too high");
  CHECK(MessageOf(Tensor::Of<int32_t>({2}, {0, 2}), {}).empty());
}

TEST_CASE("each head of a dict has its own range, or none") {
  const nn::Labels<Tensor> labels(LabelTensors{{"buys", Tensor::Of<int32_t>({2}, {9, -4})},
                                               {"clicks", Tensor::Of<int32_t>({2}, {-1, 0})}});
  CHECK(MessageOf(labels, nn::Labels<nn::LabelRange>(Ranges{{"clicks", kBit}})) ==
        "a.csv: record 3: head 'clicks': label is -1: too low");
  CHECK(MessageOf(labels, nn::Labels<nn::LabelRange>(Ranges{{"other", kBit}})).empty());
}

}  // namespace tpuest
