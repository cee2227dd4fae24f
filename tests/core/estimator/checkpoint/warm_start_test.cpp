// Warm starts from a checkpoint that TensorFlow wrote, compared with tf.estimator's results in the
// same folder.

#include "core/estimator/checkpoint/warm_start/warm_start.h"

#include <cstring>

#include "core/estimator/options/options.h"
#include "core/io/bundle.h"
#include "core/nn/vocabulary_remap.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

using Patterns = std::vector<std::string>;
using Words = std::vector<std::string>;

const std::string kFolder = TESTDATA "/warm_start/";

VocabInfo RowsOfWords() {
  return {.new_vocab = kFolder + "new_words.txt",
          .new_vocab_size = 5,
          .num_oov_buckets = 2,
          .old_vocab = kFolder + "old_words.txt",
          .old_vocab_size = 3,
          .backup_initializer = nn::OnesInitializer{}};
}

VocabInfo ColumnsOfClasses() {
  return {.new_vocab = kFolder + "new_classes.txt",
          .new_vocab_size = 4,
          .num_oov_buckets = 1,
          .old_vocab = kFolder + "old_classes.txt",
          .axis = 1};
}

WarmStartSettings Settings() {
  return {.ckpt_to_initialize_from = kFolder + "old",
          .vars_to_warm_start = Patterns{"emb:0", "logits/kernel", "renamed", "global_step"},
          .var_name_to_vocab_info = {{"emb", RowsOfWords()}, {"logits/kernel", ColumnsOfClasses()}},
          .var_name_to_prev_var_name = {{"renamed/kernel", "dense/kernel"}}};
}

// The graph that the checkpoint warm-starts; all its variables are zero.
class Target {
 public:
  Target() {
    Add("global_step", DType::kInt64, {}, false);
    Add("emb", DType::kFloat, {7, 2});
    Add("emb/Adagrad", DType::kFloat, {7, 2}, false);
    Add("logits/kernel", DType::kFloat, {2, 5});
    Add("logits/bias", DType::kFloat, {5});
    Add("renamed/kernel", DType::kFloat, {1, 2});
  }
  void Add(const std::string& name, DType dtype, const Shape& shape, bool trainable = true) {
    Tensor zeros(dtype, shape);
    std::memset(zeros.raw(), 0, zeros.bytes());
    graph.AddVariable(name, dtype, shape, graph.Constant(zeros))->trainable = trainable;
    store.Set(name, zeros);
  }
  void Start(const WarmStartFrom& from) {
    WarmStart(from, graph, {.backend = *home.backend, .seed = 1, .log = home.log}, store);
  }
  // The message of the error, whose key is below warm_start_from.
  std::string Refused(const WarmStartFrom& from) {
    const Error error = ErrorOf([&] { Start(from); });
    CHECK(error.faults()[0].key.starts_with("warm_start_from"));
    return error.message();
  }

  Home home;
  Graph graph{home.registry};
  VariableStore store;
};

// Writes a file to the folder.
std::string Write(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  WriteFileAtomically(folder.File(name), text, false);
  return folder.File(name);
}

TEST_CASE("rows, columns, names and the step are loaded as in tf.estimator") {
  Target target;
  target.Start(Settings());
  const BundleReader started(kFolder + "started");
  for (const std::string& name : started.Names()) {
    CAPTURE(name);
    CHECK(SameBits(target.store.Get(name), started.Read(name)));
  }
  CHECK(target.home.Logged("Warm-started 4 variables."));
  CHECK(!target.home.Logged("TRAINABLE_VARIABLES"));
}

TEST_CASE("a table lists the outcome for each variable") {
  Target target;
  target.Start(Settings());
  CHECK(target.home.Logged("  global_step     []     loaded"));
  CHECK(target.home.Logged(
      "  emb             [7,2]  3 of 7 rows by vocabulary, the rest from backup_initializer"));
  CHECK(target.home.Logged("  emb/Adagrad     [7,2]  new"));
  CHECK(
      target.home.Logged("  logits/kernel   [2,5]  3 of 5 columns by vocabulary, the rest zeros"));
  CHECK(target.home.Logged("  renamed/kernel  [1,2]  loaded from dense/kernel"));
}

TEST_CASE("settings are logged as Python prints them") {
  Target target;
  WarmStartSettings settings = Settings();
  settings.var_name_to_vocab_info.erase("emb");
  settings.vars_to_warm_start = Patterns{"logits/kernel", "renamed"};
  target.Start(settings);
  CHECK(target.home.Logged(fmt::format(
      "Warm-starting with WarmStartSettings: WarmStartSettings(ckpt_to_initialize_from='{0}old', "
      "vars_to_warm_start=['logits/kernel', 'renamed'], var_name_to_vocab_info={{'logits/kernel': "
      "VocabInfo(new_vocab='{0}new_classes.txt', new_vocab_size=4, num_oov_buckets=1, "
      "old_vocab='{0}old_classes.txt', old_vocab_size=-1, backup_initializer=None, axis=1)}}, "
      "var_name_to_prev_var_name={{'renamed/kernel': 'dense/kernel'}})",
      kFolder)));
}

TEST_CASE("null selects only the variables with a vocabulary, and a bias has columns") {
  Target target;
  WarmStartSettings settings = Settings();
  settings.vars_to_warm_start = std::nullopt;
  settings.var_name_to_prev_var_name.clear();
  settings.var_name_to_vocab_info = {{"logits/bias", ColumnsOfClasses()}};
  target.Start(settings);
  CHECK(target.home.Logged("Warm-starting variables only in TRAINABLE_VARIABLES."));
  CHECK(target.home.Logged("Warm-started 1 variables."));
  CHECK(SameBits(target.store.Get("logits/bias"), Tensor::Of<float>({5}, {5, 3, 0, 4, 0})));
}

TEST_CASE("a value that does not fit is an error, or is skipped") {
  Target target;
  WarmStartSettings settings{.ckpt_to_initialize_from = kFolder + "old"};
  const Error error = ErrorOf([&] { target.Start(settings); });
  REQUIRE(error.faults().size() == 4);
  CHECK(error.faults()[0].message ==
        "Shape of variable emb ((7, 2)) doesn't match with shape of tensor emb ((4, 2)) from "
        "checkpoint reader.");
  CHECK(error.faults()[3].message ==
        "Tensor renamed/kernel is not found in " + kFolder + "old checkpoint");
  settings.on_mismatch = "skip";
  settings.var_name_to_vocab_info = {{"emb", RowsOfWords()}};
  target.Start(settings);
  CHECK(target.home.Logged("Warm-started 1 variables."));
  CHECK(target.home.Logged("  logits/bias     [5]    skipped: Shape of variable logits/bias"));
  CHECK(target.store.Get("emb").AsDouble(0) == 5);
}

TEST_CASE("names that no variable has are errors") {
  Target target;
  WarmStartSettings settings = Settings();
  settings.var_name_to_prev_var_name["rename/kernel"] = "dense/kernel";
  CHECK(target.Refused(settings) ==
        "You provided the following variables in var_name_to_prev_var_name that were not used: "
        "{'rename/kernel'}.  Perhaps you misspelled them?  Here is the list of viable variable "
        "names: dict_keys(['global_step', 'emb', 'logits/kernel', 'renamed/kernel'])");
  settings = Settings();
  settings.var_name_to_vocab_info["embed"] = RowsOfWords();
  CHECK(target.Refused(settings).starts_with(
      "You provided the following variables in var_name_to_vocab_info that were not used: "
      "{'embed'}.  Perhaps you misspelled them?"));
  settings = Settings();
  settings.vars_to_warm_start = "emb(";
  CHECK(target.Refused(settings) ==
        "'emb(' is not a regular expression: missing closing parenthesis at character 4");
}

TEST_CASE("sizes that do not fit their vocabularies are errors") {
  Target target;
  WarmStartSettings settings = Settings();
  VocabInfo& rows = settings.var_name_to_vocab_info["emb"];
  VocabInfo& columns = settings.var_name_to_vocab_info["logits/kernel"];
  rows.num_oov_buckets = 1;
  CHECK(target.Refused(settings) ==
        "Trying to initialize 7 additional rows after 0 rows have already been initialized, which "
        "would exceed expected total row count of new_row_vocab_size (5) + num_row_oov_buckets (1) "
        "= 6.");
  rows = RowsOfWords();
  columns.num_oov_buckets = 0;
  CHECK(target.Refused(settings) ==
        "Expected 2nd dim of shape to be new_col_vocab_size (4) + num_col_oov_buckets (0) = 4, but "
        "received shape: (2, 5)");
  columns = ColumnsOfClasses();
  rows.old_vocab_size = 6;
  CHECK(target.Refused(settings) ==
        "Invalid vocab_size in " + kFolder + "old_words.txt: expected 6 but got 4");
  rows = RowsOfWords();
  rows.new_vocab_size = 6;
  CHECK(target.Refused(settings).starts_with(
      "lookup table size must be larger than last new vocab entry's line: "));
  rows = RowsOfWords();
  rows.old_vocab = kFolder + "new_words.txt";
  rows.old_vocab_size = -1;
  CHECK(target.Refused(settings) ==
        kFolder + "new_words.txt has 5 words, but tensor emb of the checkpoint has 4");
  // No value was taken from the checkpoint.
  CHECK(target.store.Get("renamed/kernel").AsDouble(0) == 0);
}

TEST_CASE("a vocabulary has one word per line, without repetitions") {
  TemporaryFolder folder;
  const std::string words = Write(folder, "words", "a\r\nb\nc");
  CHECK(ReadVocabulary(words, -1) == Words{"a", "b", "c"});
  CHECK(ReadVocabulary(words, 2) == Words{"a", "b"});
  const std::string blank = Write(folder, "blank", "a\n\nc\n");
  CHECK(ErrorOf([&] { (void)ReadVocabulary(blank, -1); }).message() ==
        "Invalid content in " + blank + ": empty line found at position 3.");
  CHECK(MapVocabulary({"c", "x", "a"}, {"a", "b", "c"}) == std::vector<int64_t>{2, -1, 0});
  CHECK(ErrorOf([] {
          (void)MapVocabulary({"a"}, {"a", "b", "a"});
        }).message() ==
        "HashTable has different value for same key. Key a has 0 and trying to add value 2");
  CHECK(ErrorOf([] {
          (void)MapVocabulary({"a", "b", "a"}, {"a"});
        }).message() == "Old ID 0 is mapped to both new ID 0 and 2, which is not supported.");
}

TEST_CASE("invalid settings are reported before anything is read") {
  CHECK(Validate(WarmStartFrom("run")).empty());
  CHECK(Validate(WarmStartFrom(Settings())).empty());
  CHECK(Validate(WarmStartFrom(""))[0].message ==
        "`ckpt_to_initialize_from` MUST be set in WarmStartSettings");
  WarmStartSettings settings = Settings();
  settings.var_name_to_vocab_info["emb"].axis = 2;
  settings.var_name_to_vocab_info["emb"].new_vocab_size = 0;
  EstimatorOptions options = Options("run");
  options.warm_start_from = settings;
  options.run_config.Resolve();
  const std::vector<Fault> faults = Validate(options);
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].message ==
        "The only supported values for the axis argument are 0 and 1.  Provided axis: 2");
  CHECK(faults[0].key == "warm_start_from.var_name_to_vocab_info.emb.axis");
  CHECK(faults[1].message ==
        "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, "
        "prev_vocab_path}.");
}

}  // namespace
}  // namespace tpuest
