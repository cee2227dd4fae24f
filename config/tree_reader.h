#pragma once
// Implements ReadInto: walks tree and struct together, tracking the key path. Included only by
// reader.cpp, variant_reader.cpp and key_check.cpp.

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/reader.h"
#include "config/reflect.h"
#include "config/scalars.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// A scalar with its variables substituted.
struct ScalarText {
  std::string text;
  bool plain = true;  // not a quoted string
  bool valid = true;  // false: a fault was reported
};

// Reads one tree into one struct. After a fault it continues with the next value.
class TreeReader {
 public:
  TreeReader(const Tree& tree, const Value& root) : tree_(tree), root_(root) {}

  void ReadRoot();
  [[nodiscard]] std::vector<Fault> TakeFaults() { return faults_.Take(); }
  [[nodiscard]] std::vector<std::string> TakeNotes() { return std::move(notes_); }

 private:
  // Appends to the key paths until destroyed.
  class Step {
   public:
    Step(TreeReader& reader, const std::string& step, const std::string& schema_step);
    ~Step();
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    TreeReader& reader_;
    size_t path_size_;
    size_t schema_size_;
  };

  // reader.cpp
  void ReadValue(const Node& node, const Value& value, const Field& field);
  void ReadScalar(const Node& node, const Value& value, const Field& field);
  void ReadOptional(const Node& node, const Value& value, const Field& field);
  void ReadList(const Node& node, const Value& value, const Field& field);
  void ReadMap(const Node& node, const Value& value, const Field& field);
  void StoreInteger(const Node& node, const ScalarText& scalar, const Value& value);
  void StoreNumber(const Node& node, const ScalarText& scalar, const Value& value);
  void StoreEpochs(const Node& node, const ScalarText& scalar, const Value& value);
  void StorePeriod(const Node& node, const ScalarText& scalar, const Value& value);
  void StoreString(const Node& node, const ScalarText& scalar, const Value& value,
                   const Field& field);
  void StoreRaw(const Node& node, const Value& value);
  [[nodiscard]] ScalarText TextOf(const Node& node);
  [[nodiscard]] Node WithVariables(const Node& node);

  // `of`: the variant that the section was chosen from, or null.
  void ReadSection(const Node& node, const Value& value, const Type* of);
  void CheckKeys(const Node& node, const Value& value, const std::vector<Member>& members,
                 const Type* of);
  void UnknownKey(const Node& child, const Value& section, const std::vector<Member>& members,
                  const Type* of);
  [[nodiscard]] std::string ElsewhereHint(const std::string& key, bool near_only);

  // variant_reader.cpp
  void ReadVariant(const Node& node, const Value& value, const Field& field);
  void ReadVariantScalar(const Node& node, const Value& value, const Field& field);
  void ReadVariantList(const Node& node, const Value& value, const Field& field);
  void ReadVariantMap(const Node& node, const Value& value, const Field& field);
  void ReadTypedSection(const Node& node, const Node& type, const Value& value);
  void ReadBareType(const Node& node, const Value& value, size_t alternative);
  void UnknownType(const Node& node, const std::string& text, const Type& variant);
  void ReadAlternative(const Node& node, const Value& value, size_t alternative,
                       const Field& field);
  // Reads the first alternative that accepts the node without a fault, otherwise the first
  // alternative.
  void ReadFirstThatFits(const Node& node, const Value& value,
                         const std::vector<size_t>& alternatives, const Field& field);

  // faults
  void Report(const Node& node, std::string_view what, std::string hint);
  void ReportAt(const Place& place, int width, std::string message, std::string hint);
  // Reports "max_steps: expected an integer, found 'abc'".
  void Mistyped(const Node& node, std::string_view expected, std::string hint);
  [[nodiscard]] std::string PathPrefix() const { return path_.empty() ? "" : path_ + ": "; }
  [[nodiscard]] std::string InPath() const {
    return path_.empty() ? " at the top level" : " in " + path_;
  }

  const Tree& tree_;
  Value root_;
  Faults faults_;
  std::vector<std::string> notes_;
  std::set<std::string>
      reported_;             // places and messages, because an alias is read wherever it is used
  std::string path_;         // "model.layers[1]"
  std::string schema_path_;  // "model.layers[]", as SchemaKey::path has it
};

// A hint: "did you mean 'x'?" or "one of 'x', 'y'".
[[nodiscard]] std::string ChoiceHint(const std::string& word,
                                     const std::vector<std::string>& words);
// Returns a hint for a key that lacks a space, as in {type:Adam}: "put a space after the colon:
// type: Adam"; empty for other keys.
[[nodiscard]] std::string ColonHint(const Node& key);
// Returns the span that faults of a node point at: its key if the value has no text.
[[nodiscard]] Span ValueSpan(const Node& node);

}  // namespace tpuest::config
