#include "data/examples/column_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace tpuest::data {
namespace {

// Scratch memory, aligned for any number. It only grows, so a worker stops allocating after its
// longest example.
class Scratch {
 public:
  void* Room(size_t bytes) {
    const size_t words = (bytes + sizeof(Word) - 1) / sizeof(Word);
    if (words_.size() < words) words_.resize(words);
    return words_.data();
  }

 private:
  struct alignas(64) Word {
    char bytes[64];
  };
  std::vector<Word> words_;
};

// The first step of a column of raw bytes: interprets a string's bytes as numbers.
class Decoder {
 public:
  Decoder(const RawDecoder& options, const std::string& name) : options_(options), name_(name) {}

  Values Run(std::string_view text) {
    const size_t width = SizeOf(options_.dtype);
    const size_t bytes = static_cast<size_t>(options_.count) * width;
    if (text.size() != bytes) {
      throw Error(Code::kData,
                  fmt::format("feature \"{}\": decode_raw expected {} bytes ({} of "
                              "{}), found {}",
                              name_, bytes, options_.count, NameOf(options_.dtype), text.size()));
    }
    // Wider numbers must be aligned, and a bool must be 0 or 1.
    if (width == 1 && options_.dtype != DType::kBool) return {text.data(), options_.count};
    char* const copy = static_cast<char*>(scratch_.Room(bytes));
    std::memcpy(copy, text.data(), bytes);
    if (options_.dtype == DType::kBool) {
      for (size_t i = 0; i < bytes; ++i) copy[i] = text[i] != 0 ? 1 : 0;
    }
    if (options_.swap) {
      for (size_t i = 0; i < bytes; i += width) std::reverse(copy + i, copy + i + width);
    }
    return {copy, options_.count};
  }

 private:
  RawDecoder options_;
  std::string name_;
  Scratch scratch_;
};

// Copies bytes. Most labels are one number, and a memcpy of a constant size needs no call.
void Copy(const void* from, size_t bytes, void* to) {
  switch (bytes) {
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    default:
      std::memcpy(to, from, bytes);
  }
}

// Runs the steps of a column on one example. The last step writes into the batch's tensor, so at
// most two scratch buffers are needed:
//
//     places_    scratch -> other scratch -> scratch -> out     no step works in place
//                scratch -> out -> out -> out                   the last two do
class Chain {
 public:
  explicit Chain(const ColumnPlan& plan)
      : stages_(plan.stages), in_width_(SizeOf(plan.input_dtype)), places_(stages_.size(), kOut) {
    if (plan.decoder) {
      decoder_.emplace(*plan.decoder, plan.input_name);
      in_width_ = SizeOf(plan.decoder->dtype);
    }
    // The last stage writes the result. A step that works in place also reads its input there; any
    // other step reads it from scratch memory.
    for (size_t i = stages_.size(); i-- > 1;) {
      places_[i - 1] = stages_[i].step->in_place() ? places_[i]
                       : places_[i] == kScratch    ? kOtherScratch
                                                   : kScratch;
    }
  }

  // The values before the stages, decoded if the column begins with decode_raw.
  Values Input(Values values) {
    if (!decoder_) return values;
    return decoder_->Run(*static_cast<const std::string_view*>(values.data));
  }
  // Computes the result for the values of Input(); `out` has room for it.
  void Run(Values values, void* out) {
    if (values.count == 0) return;
    if (stages_.empty())
      return Copy(values.data, static_cast<size_t>(values.count) * in_width_, out);
    const void* in = values.data;
    int64_t count = values.count;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const int64_t results = count * stages_[i].step->outputs_per_input();
      void* const to = places_[i] == kOut
                           ? out
                           : scratch_[places_[i] - kScratch].Room(static_cast<size_t>(results) *
                                                                  stages_[i].out_width);
      stages_[i].step->Run(in, count, to);
      in = to;
      count = results;
    }
  }

 private:
  enum Where : uint8_t { kOut, kScratch, kOtherScratch };
  std::vector<ColumnPlan::Stage> stages_;
  size_t in_width_;            // bytes of a value before the stages
  std::vector<Where> places_;  // destination of each stage
  std::optional<Decoder> decoder_;
  Scratch scratch_[2];
};

Shape BatchShape(int64_t rows, const Shape& row) {
  std::vector<int64_t> dims = {rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return Shape(std::move(dims));
}

// The width K of a batch of lists: the longest, rounded up to a power of two, so that few shapes
// are compiled.
int64_t PaddedLength(const std::vector<int64_t>& lengths) {
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(longest, 1))));
}

// The number of values per element of a list of shape [?, ...].
int64_t StepOf(const Shape& list) {
  int64_t values = 1;
  for (int i = 1; i < list.rank(); ++i) values *= list.dim(i);
  return values;
}

// The list's shape with this number of elements.
Shape WithLength(const Shape& list, int64_t length) {
  std::vector<int64_t> dims = list.dims();
  dims.front() = length;
  return Shape(std::move(dims));
}

// The width K of a batch of padded lists, as in tf.data.
int64_t PaddedLength(const std::vector<int64_t>& lengths, const ColumnPlan::Padding& padding,
                     int64_t bucket_length, const std::string& name) {
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  int64_t length = padding.length;
  if (length == kUnknownDim) length = bucket_length > 0 ? bucket_length : longest;
  if (longest <= length) return length;
  throw Error(
      Code::kData,
      fmt::format("\"{}\": a list of {} values is longer than the {} that lists are padded to",
                  name, longest, length),
      "padded_shapes, or a filter before the batch")
      .Key(padding.key);
}

// Marks the values in lists of these lengths, padded to K: bool [rows, K].
Tensor PresentOf(const std::vector<int64_t>& lengths) {
  const int64_t k = PaddedLength(lengths);
  Tensor present(DType::kBool, Shape({static_cast<int64_t>(lengths.size()), k}));
  bool* row = present.data<bool>();
  for (const int64_t length : lengths) {
    std::fill_n(row, length, true);
    row += k;
  }
  return present;
}

// A fixed count of numbers per row; writes each row directly to its position in the batch's tensor.
class NumberWriter final : public ColumnWriter {
 public:
  NumberWriter(const ColumnPlan& plan, TensorPool& pool)
      : spec_(plan.spec),
        pool_(pool),
        chain_(plan),
        row_bytes_(static_cast<size_t>(plan.spec.shape.elements()) * SizeOf(plan.spec.dtype)) {}
  void Begin(int64_t rows) override {
    tensor_ = pool_.Get(spec_.dtype, BatchShape(rows, spec_.shape));
    out_ = static_cast<char*>(tensor_.raw());
  }
  void Add(Values values, const RecordKey& /*record*/) override {
    chain_.Run(chain_.Input(values), out_);
    out_ += row_bytes_;
  }
  Tensor Finish() override { return std::move(tensor_); }

 private:
  TensorSpec spec_;
  TensorPool& pool_;
  Chain chain_;
  size_t row_bytes_;
  Tensor tensor_;
  char* out_ = nullptr;  // of the next row
};

// Images: runs the steps before the first op on images, then these ops, and writes the result to
// its position in the batch's tensor.
class ImageWriter final : public ColumnWriter {
 public:
  ImageWriter(const ColumnPlan& plan, TensorPool& pool)
      : plan_(plan),
        pool_(pool),
        chain_(plan),
        row_bytes_(static_cast<size_t>(plan.spec.shape.elements()) * SizeOf(plan.spec.dtype)) {}
  void Begin(int64_t rows) override {
    tensor_ = pool_.Get(plan_.spec.dtype, BatchShape(rows, plan_.spec.shape));
    out_ = static_cast<char*>(tensor_.raw());
  }
  void Add(Values values, const RecordKey& record) override {
    Start(values);
    for (const ColumnPlan::ImageStage& stage : plan_.images) {
      if (stage.op) {
        stage.op->Run(picture_, record, scratch_);
      } else {
        RunStage(stage);
      }
    }
    Check(picture_.bytes.size() >= row_bytes_);
    std::memcpy(out_, picture_.bytes.data(), row_bytes_);
    out_ += row_bytes_;
  }
  Tensor Finish() override { return std::move(tensor_); }

 private:
  void Start(Values values) {
    const TensorSpec& input = plan_.image_input;
    if (input.dtype == DType::kString) {
      picture_.file = *static_cast<const std::string_view*>(values.data);
      return;
    }
    picture_.Become(input.dtype, input.shape.dim(0), input.shape.dim(1), input.shape.dim(2));
    chain_.Run(chain_.Input(values), picture_.bytes.data());
  }
  void RunStage(const ColumnPlan::ImageStage& stage) {
    const int64_t count = picture_.values();
    Picture& made = scratch_.other;
    made.Become(stage.dtype, picture_.height, picture_.width,
                picture_.channels * stage.stage.step->outputs_per_input());
    stage.stage.step->Run(picture_.bytes.data(), count, made.bytes.data());
    picture_.Swap(made);
  }

  const ColumnPlan& plan_;
  TensorPool& pool_;
  Chain chain_;
  size_t row_bytes_;
  Tensor tensor_;
  char* out_ = nullptr;  // of the next row
  Picture picture_;
  PictureScratch scratch_;
};

// Lists of numbers: collected one after the other, then copied to [rows, K], because K is known
// only after the last row.
class NumberListWriter final : public ColumnWriter {
 public:
  NumberListWriter(const ColumnPlan& plan, TensorPool& pool)
      : spec_(plan.spec),
        padding_(plan.padding),
        step_(StepOf(plan.spec.shape)),
        pool_(pool),
        chain_(plan) {}
  void Begin(int64_t) override {
    lengths_.clear();
    bytes_.clear();
    bucket_length_ = 0;
  }
  void PadTo(int64_t length) override { bucket_length_ = length; }
  void Add(Values values, const RecordKey& /*record*/) override {
    lengths_.push_back(values.count / step_);
    const size_t at = bytes_.size();
    const size_t size = static_cast<size_t>(values.count) * SizeOf(spec_.dtype);
    void* const result = scratch_.Room(size);
    chain_.Run(values, result);
    bytes_.resize(at + size);
    if (size > 0) std::memcpy(&bytes_[at], result, size);
  }
  Tensor Finish() override {
    const DType dtype = spec_.dtype;
    const int64_t length = padding_ ? PaddedLength(lengths_, *padding_, bucket_length_, spec_.name)
                                    : PaddedLength(lengths_);
    Tensor tensor = pool_.Get(
        dtype, BatchShape(static_cast<int64_t>(lengths_.size()), WithLength(spec_.shape, length)));
    DispatchDType(dtype, [&]<class T>() {
      // -1 for integers (for an unsigned type its largest value), NaN for floats, false for bools.
      T absent = IsFloating(dtype) ? ConvertTo<T>(std::numeric_limits<float>::quiet_NaN())
                                   : ConvertTo<T>(-static_cast<int>(IsInteger(dtype)));
      if (padding_) absent = *padding_->value.template data<T>();
      const char* from = bytes_.data();
      T* row = tensor.data<T>();
      for (const int64_t steps : lengths_) {
        const int64_t count = steps * step_;
        const size_t size = static_cast<size_t>(count) * sizeof(T);
        if (size > 0) std::memcpy(row, from, size);
        std::fill(row + count, row + length * step_, absent);
        from += size;
        row += length * step_;
      }
    });
    return tensor;
  }
  [[nodiscard]] Tensor Present() const override { return PresentOf(lengths_); }

 private:
  TensorSpec spec_;
  std::optional<ColumnPlan::Padding> padding_;
  int64_t step_;  // values per element of the list
  TensorPool& pool_;
  Chain chain_;
  Scratch scratch_;
  int64_t bucket_length_ = 0;
  std::vector<int64_t> lengths_;
  std::vector<char> bytes_;
};

// Strings: their bytes are collected in one string that the tensor then owns and views. Rows may
// have a fixed count or be lists.
class StringWriter final : public ColumnWriter {
 public:
  explicit StringWriter(const ColumnPlan& plan)
      : name_(plan.spec.name),
        shape_(plan.spec.shape),
        ragged_(plan.has_any_length()),
        step_(ragged_ ? StepOf(plan.spec.shape) : 1),
        padding_(plan.padding) {}
  void Begin(int64_t) override {
    text_.clear();
    ends_.clear();
    lengths_.clear();
    bucket_length_ = 0;
  }
  void PadTo(int64_t length) override { bucket_length_ = length; }
  void Add(Values values, const RecordKey& /*record*/) override {
    const auto* const strings = static_cast<const std::string_view*>(values.data);
    lengths_.push_back(values.count / step_);
    for (int64_t i = 0; i < values.count; ++i) {
      text_.append(strings[i]);
      ends_.push_back(text_.size());
    }
  }
  Tensor Finish() override {
    const auto rows = static_cast<int64_t>(lengths_.size());
    const Shape row = RowShape();
    const size_t size = text_.size();
    if (padding_) text_.append(padding_->value.strings()[0]);
    const auto arena = std::make_shared<const std::string>(std::move(text_));
    text_ = std::string();
    text_.reserve(size);  // the next batch is about as long
    Tensor tensor = Tensor::Views(BatchShape(rows, row), arena);
    const char* bytes = arena->data();
    const std::string_view arena_end = std::string_view(*arena).substr(size);
    const size_t* end = ends_.data();
    size_t begin = 0;
    std::string_view* out = tensor.strings().data();
    for (const int64_t steps : lengths_) {
      const int64_t length = steps * step_;
      // Positions beyond a row's length remain "", because the views of a new tensor are empty.
      for (int64_t i = 0; i < length; ++i, begin = *end++) out[i] = {bytes + begin, *end - begin};
      if (padding_) std::fill(out + length, out + row.elements(), arena_end);
      out += row.elements();
    }
    return tensor;
  }
  [[nodiscard]] Tensor Present() const override { return PresentOf(lengths_); }

 private:
  [[nodiscard]] Shape RowShape() const {
    if (!ragged_) return shape_;
    return WithLength(shape_, padding_ ? PaddedLength(lengths_, *padding_, bucket_length_, name_)
                                       : PaddedLength(lengths_));
  }

  std::string name_;
  Shape shape_;
  bool ragged_;
  int64_t step_;  // values per element of a list
  std::optional<ColumnPlan::Padding> padding_;
  int64_t bucket_length_ = 0;
  std::string text_;          // all strings, one after the other
  std::vector<size_t> ends_;  // end of each string
  std::vector<int64_t> lengths_;
};

}  // namespace

std::unique_ptr<ColumnWriter> MakeColumnWriter(const ColumnPlan& plan, TensorPool& pool) {
  if (plan.spec.dtype == DType::kString) return std::make_unique<StringWriter>(plan);
  if (!plan.images.empty()) return std::make_unique<ImageWriter>(plan, pool);
  if (plan.has_any_length()) return std::make_unique<NumberListWriter>(plan, pool);
  return std::make_unique<NumberWriter>(plan, pool);
}

}  // namespace tpuest::data
