// Rows of libsvm, and their weights.

#include <cmath>

#include "data/pipeline/other_file.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

InputFnOptions RowsOf(const std::string& path, LibsvmSource source = {}) {
  source.filenames = path;
  InputFnOptions options;
  options.source = std::move(source);
  return options;
}

std::vector<std::string> NamesOf(const InputFnOptions& options) {
  std::vector<std::string> names;
  const std::unique_ptr<BatchStream> stream = Open(options);
  for (const TensorSpec& feature : stream->spec().features) names.push_back(feature.name);
  return names;
}

// The place, message and hint of the fault of a file with these rows.
std::string FaultOfRows(const std::string& rows, const LibsvmSource& source = {}) {
  const TemporaryFolder folder;
  Put(folder, "d.svm", rows);
  try {
    AllRows(RowsOf(folder.File("d.svm"), source));
  } catch (const Error& error) {
    const Fault& fault = error.faults().front();
    const std::string place = fault.place.file.empty()
                                  ? fault.key
                                  : fmt::format("{}:{}:{}", BaseName(fault.place.file),
                                                fault.place.line, fault.place.column);
    return fmt::format("{}: {}{}", place, fault.message,
                       fault.hint.empty() ? "" : " | " + fault.hint);
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("libsvm rows are a label, and lists of indices and values") {
  const TemporaryFolder folder;
  const std::string path =
      Put(folder, "d.svm",
          "\xef\xbb\xbf# a file\n1 3:0.5 10:-2e1 # row 0\n\n-1\r\n  +1\t0:.25\t4:+1 \n2.0 7:1#x");
  const InputFnOptions options = RowsOf(path);
  CHECK(NamesOf(options) == std::vector<std::string>{"index", "value"});
  const Batch batch = AllRows(options);
  const Tensor& labels = batch.labels.begin()->second;
  CHECK(labels.dtype() == DType::kInt64);
  CHECK(Ints(labels) == std::vector<int64_t>{1, -1, 1, 2});
  CHECK(Ints(batch.features[0]) == std::vector<int64_t>{3, 10, -1, -1, 0, 4, 7, -1});
  const std::vector<double> values = Numbers(batch.features[1]);
  CHECK(values[0] == 0.5);
  CHECK(values[1] == -20);
  CHECK(std::isnan(values[2]));
  CHECK(values[4] == 0.25);
  CHECK(batch.rows[3].record == 3);
}

TEST_CASE("labels of libsvm rows are float32 where one is not whole, or where the job says so") {
  const TemporaryFolder folder;
  const std::string path = Put(folder, "d.svm", "1 1:1\n0.5 1:1\n");
  CHECK(Numbers(AllRows(RowsOf(path)).labels.begin()->second) == std::vector<double>{1, 0.5});
  const std::string whole = Put(folder, "w.svm", "1 1:1\n");
  CHECK(AllRows(RowsOf(whole, {.label_dtype = "float32"})).labels.begin()->second.dtype() ==
        DType::kFloat);
}

TEST_CASE("base and size say which indices a libsvm file has") {
  const TemporaryFolder folder;
  const std::string path = Put(folder, "d.svm", "1 1:1 4:2\n");
  LibsvmSource source;
  source.base = 1;
  source.size = 4;
  CHECK(Ints(AllRows(RowsOf(path, source)).features[0]) == std::vector<int64_t>{0, 3});
  CHECK(FaultOfRows("1 1:1\n0 0:1\n", source) ==
        "d.svm:2:3: index 0 is below base, 1 | base: 0 counts from 0");
  CHECK(FaultOfRows("1 5:1\n", source) == "d.svm:1:3: index 5 is above 4, the last of size: 4");
  source.base = 0;
  CHECK(FaultOfRows("1 4:1\n", source) ==
        "d.svm:1:3: index 4 is above 3, the last of size: 4 | base: 1 counts from 1");
  source.base = 2;
  CHECK(FaultOfRows("1 4:1\n", source) ==
        "input_fns.train.source.base: base is 2; expected 0 or 1");
}

TEST_CASE("an invalid libsvm row is refused with its line and column") {
  CHECK(FaultOfRows("1 1:1\n\n# c\n0 2:x\n") ==
        "d.svm:4:5: value of index 2: expected a number, found 'x'");
  CHECK(FaultOfRows("1 1:1 2:\n") == "d.svm:1:9: value of index 2: expected a number, found ''");
  CHECK(FaultOfRows("1 1:nan\n") == "d.svm:1:5: value of index 1: expected a number, found 'nan'");
  CHECK(FaultOfRows("1 1:1e999\n") ==
        "d.svm:1:5: value of index 1: expected a number, found '1e999'");
  CHECK(FaultOfRows("1 3:1 3:2\n") == "d.svm:1:7: index 3 follows 3; expected increasing indices");
  CHECK(FaultOfRows("1 3:1 2:2\n") == "d.svm:1:7: index 2 follows 3; expected increasing indices");
  CHECK(FaultOfRows("1 -2:1\n") == "d.svm:1:3: index -2 is below base, 0");
  CHECK(FaultOfRows("1 2.5:1\n") == "d.svm:1:3: index: expected a whole number, found '2.5'");
  CHECK(FaultOfRows("1 99999999999999999999:1\n") ==
        "d.svm:1:3: index: expected a whole number, found '99999999999999999999'");
  CHECK(FaultOfRows("1 7\n") == "d.svm:1:3: expected index:value, found '7'");
  CHECK(
      FaultOfRows("1 qid:3 1:2\n") ==
      "d.svm:1:3: index: expected a whole number, found 'qid' | query ids (qid) are not supported; "
      "remove them");
  CHECK(FaultOfRows("1 1:1\n3:1 4:1\n") ==
        "d.svm:2:1: expected a label, found '3:1' | a row begins with its label: 1 3:0.5");
  CHECK(FaultOfRows("a 1:1\n") == "d.svm:1:1: label: expected a whole number, found 'a'");
  CHECK(FaultOfRows("1,2 1:1\n") == "d.svm:1:1: label: expected a whole number, found '1,2'");
  CHECK(FaultOfRows("0.5 1:1\n", {.label_dtype = "int64"}) ==
        "d.svm:1:1: label: expected a whole number, found '0.5' | label_dtype: float32 reads other "
        "numbers");
  CHECK(Has(FaultOfRows("# none\n"), "no records are left: 0 in all"));
}

TEST_CASE("weights of libsvm rows are in a file beside them, or in one that the job names") {
  const TemporaryFolder folder;
  const std::string path = Put(folder, "d.svm", "1 1:1\n0 2:1\n");
  Put(folder, "d.svm.weight", "0.5\n2\n");
  const InputFnOptions options = RowsOf(path);
  CHECK(NamesOf(options) == std::vector<std::string>{"index", "value", "weight"});
  CHECK(Numbers(AllRows(options).features[2]) == std::vector<double>{0.5, 2});
  LibsvmSource other;
  other.weights = FileNames(Put(folder, "w", "3\n\n4\n"));
  CHECK(Numbers(AllRows(RowsOf(path, other)).features[2]) == std::vector<double>{3, 4});
  other.weights = FileNames(std::vector<std::string>());
  CHECK(NamesOf(RowsOf(path, other)).size() == 2);
  Put(folder, "d.svm.weight", "0.5\n");
  CHECK(Has(ErrorOf([&] { AllRows(options); }).message,
            "d.svm.weight: expected 2 weights, one for each row of "));
  Put(folder, "d.svm.weight", "0.5\nx\n");
  CHECK(ErrorOf([&] { AllRows(options); }).message == "weight: expected a number, found 'x'");
  Put(folder, "e.svm", "1\n");
  InputFnOptions both = options;
  std::get<LibsvmSource>(both.source).filenames = folder.File("*.svm");
  CHECK(ErrorOf([&] { AllRows(both); }).key == "input_fns.train.source.weights");
}

TEST_CASE("another file of libsvm rows has weights of 1 and the types of the job's own") {
  const TemporaryFolder folder;
  Put(folder, "d.svm.weight", "0.5\n2\n");
  const InputFnOptions own = RowsOf(Put(folder, "d.svm", "1.5 1:1\n0 2:1\n"));
  const std::string path = Put(folder, "new.svm", "0 5:3\n");
  const InputFnOptions other = WithFile(own, path, "train");
  const Batch batch = AllRows(other);
  CHECK(Ints(batch.features[0]) == std::vector<int64_t>{5});
  CHECK(Numbers(batch.features[2]) == std::vector<double>{1});
  CHECK(!batch.labels.valid());
}

}  // namespace tpuest::data
