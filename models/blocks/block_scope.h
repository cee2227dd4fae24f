#pragma once
// The parameters, blocks and layers that formulas and names of a model in blocks refer to. Only
// this folder uses it.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/formula/expression.h"
#include "config/tree.h"
#include "core/base/error.h"

namespace tpuest::models {

using config::Literal;
using config::Node;
using config::Parameters;
using config::Tree;

// A fault with its place, thrown to end the expansion of an item.
struct Refused {
  Fault fault;
};

// Throw Refused: Refuse at the node's value if it has one, RefuseKey at its key.
[[noreturn]] void Refuse(const Node& node, std::string message, std::string hint = "");
[[noreturn]] void RefuseKey(const Node& node, std::string message, std::string hint = "");

// Computes the formulas in a job's nodes. Throws Refused at a formula that has no value.
class BlockFormulas {
 public:
  // `job` outlives it.
  explicit BlockFormulas(const Tree& job) : job_(job) {}

  // Returns the node with the value of each formula in its place. The job's variables stay.
  [[nodiscard]] Node Filled(const Node& node, const Parameters& parameters) const;
  // Returns the value of a node with formulas and variables of the job.
  [[nodiscard]] Literal ValueOf(const Node& node, const Parameters& parameters) const;
  // Returns the value of a formula that needs no ${}: "stride > 1".
  [[nodiscard]] Literal Formula(const Node& node, const Parameters& parameters) const;
  // Returns the value of a node without formulas, which may have variables of the job.
  [[nodiscard]] Literal LiteralOf(const Node& node) const;

 private:
  [[nodiscard]] Node FilledScalar(const Node& node, const Parameters& parameters) const;

  const Tree& job_;
};

// Keys of an item that its layers do not get.
inline constexpr std::string_view kIf = "if";
inline constexpr std::string_view kRepeat = "repeat";
inline constexpr std::string_view kLabel = "as";
inline constexpr std::string_view kBlock = "block";

// The parameters that a block, a model or a model file declares. Each has a default or is
// `required`.
class DeclaredParameters {
 public:
  // `section` outlives this object; nullptr declares nothing. `whose` is for messages: "block
  // 'residual'".
  DeclaredParameters(const Node* section, std::string whose)
      : section_(section), whose_(std::move(whose)) {}

  [[nodiscard]] std::vector<std::string> Names() const;

  // Adds the arguments and the defaults of all other parameters to `values`. The arguments'
  // formulas name the caller's parameters. Throws Refused at an argument that is not declared, and
  // at `use` for a required parameter without an argument.
  void Bind(const std::vector<const Node*>& arguments, const Parameters& caller, const Node& use,
            const BlockFormulas& formulas, Parameters& values) const;

 private:
  const Node* section_;
  std::string whose_;
};

// Resolves the names in an item of `layers`. Points into the nodes of its blocks, which outlive it.
class BlockScope {
 public:
  Parameters parameters;
  Parameters of_model;  // the model's own parameters, which its blocks see

  // Adds a section of blocks. Throws Refused for a block without layers or with unknown keys.
  void AddBlocks(const Node& blocks);
  // Returns the block of this name. Throws Refused at the name if there is no such block.
  [[nodiscard]] const Node& Block(const Node& name) const;
  // Returns the parameters of the block of this name; an unknown block has none.
  [[nodiscard]] DeclaredParameters DeclaredBy(std::string_view block) const;

  // Returns the scope of the block's layers, without the block's own parameters.
  [[nodiscard]] BlockScope Inside(const Node& block) const;
  // Returns the scope of the layers of a nested model.
  [[nodiscard]] BlockScope InsideModel() const;

  // Names a layer of the same list, by its number, for the `inputs` of later layers.
  void Label(const std::string& label, size_t layer);
  // Names a block's inputs for its layers. The first layer without `inputs` takes them. nullptr
  // stands for the last of the `layers_before` the block.
  void NameInputs(const Node* inputs, size_t layers_before);
  // Replaces the names in a layer's `inputs` by the layers that they stand for.
  void Resolve(Node& inputs) const;
  // The inputs of the next layer without `inputs`; nullptr: the layer before it.
  [[nodiscard]] const Node* first_inputs() const {
    return first_inputs_ ? &*first_inputs_ : nullptr;
  }
  // Makes the next layer without `inputs` take the layer before it.
  void EndFirst() { first_inputs_.reset(); }
  // Takes over the names of another scope of the same list.
  void TakeNames(BlockScope&& other);

 private:
  std::map<std::string, const Node*, std::less<>> blocks_;
  // Layers ("@12": number 12 of the list) and inputs by the names that `inputs` may use.
  std::map<std::string, std::string, std::less<>> names_;
  std::optional<Node> first_inputs_;
};

}  // namespace tpuest::models
