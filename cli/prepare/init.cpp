// tpuest init NAME, and tpuest init --from data.csv --label NAME [--model linear] [--output
// job.yaml]

#include <algorithm>
#include <filesystem>

#include "cli/job/recipes.h"
#include "cli/prepare/commands.h"
#include "cli/prepare/starter_job.h"
#include "cli/shell/json.h"
#include "cli/shell/output_file.h"
#include "config/scalars.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

struct InitInvocation : Invocation {
  std::optional<std::string> from;
  std::optional<std::string> label;
  std::optional<std::string> eval;
  std::optional<StarterSplit> split;
  StarterModel model = StarterModel::kLinear;
  std::optional<std::string> column_names;  // "a,b,c"
  bool no_header = false;
  std::optional<std::string> output;
  bool force = false;
};

void Declare(FlagSet& flags, InitInvocation& to) {
  flags.Text("--from", to.from, "FILE", "CSV file; *.gz is decompressed");
  flags.Text("--label", to.label, "NAME", "column to predict");
  flags.Choice<StarterModel>("--model", to.model,
                             {{"linear", StarterModel::kLinear},
                              {"dnn", StarterModel::kDnn},
                              {"combined", StarterModel::kCombined},
                              {"baseline", StarterModel::kBaseline}},
                             "model to train; default linear");
  flags.Text("--eval", to.eval, "FILE", "CSV file to evaluate on; default: a fifth of the rows");
  flags.Choice<std::optional<StarterSplit>>(
      "--split", to.split, {{"hash", StarterSplit::kHash}, {"last", StarterSplit::kLast}},
      "how to choose that fifth: `hash` of each row; `last` takes the last rows, for rows ordered "
      "by time");
  flags.Text("--column-names", to.column_names, "A,B,...",
             "names of all columns; default: the header");
  flags.Switch("--no-header", to.no_header, "the first row of the CSV is a record, not a header");
  flags.Text(
      "--output", to.output, "FILE|-",
      "job file to write; default: the name of the CSV file with .yaml; `-` writes to stdout");
  flags.Switch("--force", to.force, "overwrite the job file");
}

namespace fs = std::filesystem;

constexpr const char* kInitExample = "tpuest init --from data.csv --label price";

// Returns a name from a path: "data/Passengers 2.csv.gz" -> "Passengers_2", "jobs/b.yaml" -> "b".
std::string StemOf(const std::string& path) {
  std::string stem = BaseName(path);
  for (const std::string_view ending : {".gz", ".csv", ".tsv", ".txt", ".yaml", ".yml"}) {
    if (EndsWith(stem, ending)) stem.resize(stem.size() - ending.size());
  }
  for (char& c : stem) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                       c == '.' || (c & 0x80) != 0;
    if (!plain) c = '_';
  }
  return stem.empty() || stem.front() == '.' ? "table" + stem : stem;
}

// Returns a path from the command line relative to a job in `folder`, with the characters of
// patterns escaped.
std::string InJob(const std::string& path, const std::string& folder) {
  const fs::path absolute = fs::absolute(path).lexically_normal();
  const std::string named = fs::path(path).is_absolute()
                                ? absolute.string()
                                : absolute.lexically_proximate(fs::absolute(folder)).string();
  std::string escaped;
  for (const char c : named) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void CheckFile(const std::string& flag, const std::string& path) {
  if (FileExists(path)) return;
  throw Error(Code::kData,
              fmt::format("{} {}: {}", flag, path,
                          DirectoryExists(path) ? "is a folder, expected a file" : "no such file"),
              path == "-" ? "name a file: a job reads its input more than once" : "");
}

data::CsvSource SourceOf(const InitInvocation& invocation, const std::string& path) {
  data::CsvSource source;
  source.file_pattern = path;
  source.header = !invocation.no_header;
  if (invocation.column_names) source.column_names = Split(*invocation.column_names, ',');
  if (!source.header && !source.column_names) {
    throw Error(Code::kUsage, "--no-header: the columns have no names", "--column-names A,B,...");
  }
  return source;
}

// Checks that the file to evaluate on has the columns that the job reads.
void CheckEval(const data::CsvProfile& profile, const StarterPlan& plan,
               const data::CsvSource& source) {
  const data::CsvProfile eval = data::ProfileCsv(source);
  const auto has = [&](const std::string& name) {
    for (const data::CsvColumnProfile& column : eval.columns) {
      if (column.name == name) return true;
    }
    return false;
  };
  std::vector<std::string> missing;
  for (const data::CsvColumnProfile& column : profile.columns) {
    if (!has(column.name)) missing.push_back(column.name);
  }
  if (missing.empty() && eval.columns.size() == profile.columns.size()) return;
  throw Error(
      Code::kData,
      missing.empty()
          ? fmt::format("{} has {} columns, {} has {}", std::get<std::string>(source.file_pattern),
                        eval.columns.size(), std::get<std::string>(profile.source.file_pattern),
                        profile.columns.size())
          : fmt::format("{} has no column {}, which the evaluation of {} needs",
                        std::get<std::string>(source.file_pattern), Join(missing, ", "),
                        plan.label.column->name),
      "give both files the same columns");
}

std::string UseName(const StarterColumn& column) {
  switch (column.use) {
    case ColumnUse::kNumeric:
      return "numeric_column";
    case ColumnUse::kVocabulary:
      return "categorical_column_with_vocabulary_list";
    case ColumnUse::kHashBucket:
      return "categorical_column_with_hash_bucket";
    case ColumnUse::kLeftOut:
      break;
  }
  return "left out: " + column.why;
}

// Prints the decisions to stderr, because the job may go to stdout.
void Tell(const data::CsvProfile& profile, const StarterPlan& plan) {
  fmt::print(stderr, "{} rows, {} columns\n", WithCommas(profile.rows), profile.columns.size());
  fmt::print(stderr, "label {}: {}\n", plan.label.column->name,
             plan.label.is_class ? fmt::format("{} classes", plan.label.n_classes) : "a number");
  for (const StarterColumn& column : plan.columns) {
    fmt::print(stderr, "  {:<24} {}\n", column.column->name, UseName(column));
  }
  fmt::print(stderr, "{}, trained for {} steps of {} rows\n", plan.ModelType(), plan.max_steps,
             plan.batch_size);
}

// Writes the job file.
void Write(const InitInvocation& invocation, const std::string& path, const std::string& job) {
  if (!invocation.dry_run) {
    if (const std::string folder = DirName(path); !folder.empty()) MakeDirectories(folder);
    WriteFileAtomically(path, job, false);
  }
  if (invocation.quiet) return;
  fmt::print(stderr, "{} to {}; next: tpuest train {}\n",
             invocation.dry_run ? "nothing was written; the job would be written" : "written", path,
             path);
}

Json Document(const StarterPlan& plan) {
  Json columns = Json::object();
  for (const StarterColumn& column : plan.columns) columns[column.column->name] = UseName(column);
  return {{"label", plan.label.column->name},
          {"model", plan.ModelType()},
          {"rows", plan.rows},
          {"max_steps", plan.max_steps},
          {"columns", columns}};
}

void CheckFlags(const InitInvocation& invocation, const std::string& output) {
  if (output == "-") return;
  if (!IsJobFile(output)) {
    throw Error(Code::kUsage,
                fmt::format("--output {}: expected a name that ends in .yaml, or -", output));
  }
  if (invocation.from) CheckNoInput(output, {*invocation.from});
  if (invocation.eval) CheckNoInput(output, {*invocation.eval});
  CheckNewFile(output, invocation.force);
}

// Writes the recipe `starter` as NAME.yaml.
int InitStarter(const InitInvocation& invocation) {
  const std::string given = invocation.arguments[0];
  const std::string path = IsJobFile(given) ? given : given + ".yaml";
  const std::string name = BaseName(path).substr(0, BaseName(path).find_last_of('.'));
  const bool is_plain = !name.empty() && name.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-") == std::string::npos;
  if (!is_plain || config::IsTypedText(name)) {
    throw Error(Code::kUsage, fmt::format("init {}: expected a name of letters and digits", given),
                "tpuest init digits");
  }
  CheckFlags(invocation, path);
  Write(invocation, path, RenamedText(FindRecipe("starter"), name, path));
  if (invocation.json) PrintDocument("init", {{"path", path}});
  return 0;
}

// The profile of the file, with the split into rows for training and for evaluation.
struct SplitProfile {
  data::CsvProfile profile;
  StarterSplit split;
};

// In a table of few different rows, one part of a hash split may be empty or have nearly all rows,
// because equal rows have equal hashes.
bool IsLopsided(const data::CsvProfile& profile) {
  const double part = static_cast<double>(profile.kept) /
                      static_cast<double>(std::max<int64_t>(1, profile.looked_at - profile.bad));
  return part < kEvalFraction / 4 || part > 2 * kEvalFraction;
}

SplitProfile Profile(const InitInvocation& invocation) {
  const data::CsvSource source = SourceOf(invocation, *invocation.from);
  if (invocation.eval) return {data::ProfileCsv(source), StarterSplit::kOtherFile};
  const StarterSplit split = invocation.split.value_or(StarterSplit::kHash);
  if (split == StarterSplit::kHash) {
    data::CsvProfile profile = data::ProfileCsv(source, {.fraction = kEvalFraction});
    if (invocation.split || !IsLopsided(profile)) return {std::move(profile), split};
  }
  return {data::ProfileCsv(source, {.fraction = kEvalFraction, .last = true}), StarterSplit::kLast};
}

void CheckArguments(const InitInvocation& invocation) {
  const std::vector<std::string>& arguments = invocation.arguments;
  const bool of_csv = invocation.from || invocation.label;
  if (arguments.size() > 1 || (of_csv && !arguments.empty())) {
    throw Error(Code::kUsage, fmt::format("init: unexpected argument '{}'", arguments.back()),
                "tpuest init NAME, or " + std::string(kInitExample));
  }
  if (invocation.eval && invocation.split) {
    throw Error(Code::kUsage,
                "--split and --eval exclude each other: both choose the rows to evaluate on",
                "leave one of them out");
  }
  if (!arguments.empty() || (invocation.from && invocation.label)) return;
  throw Error(Code::kUsage,
              of_csv ? "init needs a CSV file and the column to predict: --from, --label"
                     : "init needs a name for the job, or a CSV file and the column to predict: "
                       "--from, --label",
              of_csv ? kInitExample : "tpuest init digits, or " + std::string(kInitExample));
}

int Init(const InitInvocation& invocation, config::Sources& /*sources*/) {
  CheckArguments(invocation);
  if (!invocation.arguments.empty()) return InitStarter(invocation);
  const std::string& from = *invocation.from;
  const std::string output = invocation.output.value_or(StemOf(from) + ".yaml");
  CheckFlags(invocation, output);
  CheckFile("--from", from);
  const SplitProfile look = Profile(invocation);
  const data::CsvProfile& profile = look.profile;
  const StarterPlan plan = PlanStarter(profile, *invocation.label, invocation.model, look.split);
  const std::string folder = output == "-" || DirName(output).empty() ? "." : DirName(output);
  const std::string name = StemOf(output == "-" ? from : output);
  StarterPaths paths{.job = output,
                     .train = InJob(from, folder),
                     .name = name,
                     .model_dir = invocation.model_dir.value_or("runs/" + name)};
  if (invocation.eval) {
    CheckFile("--eval", *invocation.eval);
    CheckEval(profile, plan, SourceOf(invocation, *invocation.eval));
    paths.eval = InJob(*invocation.eval, folder);
  }
  const std::string job = StarterJob(profile, plan, paths);
  for (const std::string& warning : plan.warnings) {
    fmt::print(stderr, "warning: {}\n", warning);
  }
  if (!invocation.quiet) Tell(profile, plan);
  if (output != "-") Write(invocation, output, job);
  if (invocation.json) {
    Json document = Document(plan);
    document[output == "-" ? "yaml" : "path"] = output == "-" ? job : output;
    PrintDocument("init", document);
  } else if (output == "-") {
    (void)WriteStdout(job);
  }
  return 0;
}

}  // namespace

Command InitCommand() {
  return MakeCommand<InitInvocation>(
      {.name = "init",
       .summary = "write a job to start from, or one for a CSV file",
       .examples = {"tpuest init first", "tpuest init --from data.csv --label price"},
       .takes = Takes::kPath},
      Declare, Init);
}

}  // namespace tpuest::cli
