#pragma once
// Models in pieces: named blocks of layers with parameters, repetition and conditions, and models
// that are kept as such files. All of it is written out before the job is read, so that what
// follows sees a plain list of layers, each with the place of the line that wrote it.
//
//   model:
//     type: Functional
//     blocks:
//       residual:
//         parameters: {filters: required, stride: 1}
//         layers:
//           - {type: Conv2D, filters: "${filters}", kernel_size: 3, strides: "${stride}", padding:
//           same}
//           - {type: BatchNormalization, as: main}
//           - {type: Conv2D, if: "${stride > 1}", inputs: input, filters: "${filters}", ...}
//           - {type: Add, inputs: [main, "${'shortcut' if stride > 1 else 'input'}"]}
//     layers:
//       - {block: residual, repeat: 3, filters: "${16 * 2 ** i}"}
//
// In an item of `layers`:
//   if: FORMULA      the item is left out where it is false
//   repeat: N        the item N times, `i` being 0, 1, ...; or a list of sections of parameters,
//   one
//                    a time, which a block takes as its own
//   as: LABEL        how layers of the same list name it in `inputs`, whatever its name
//   block: NAME      the block's layers, with the parameters given beside it; `inputs` is what they
//                    know as `input`, by default the layer before
// A model may have `parameters: {NAME: VALUE}` of its own, which its layers, its blocks and its
// other keys name; a block's own parameter hides one of the model's. ${FORMULA}
// (config/formula/expression.h) in any text: the whole text becomes its value, or it is put into
// it. ${NAME} that is no parameter is left for the job's variables.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/tree.h"
#include "core/base/faults.h"

namespace tpuest::config {

// A model that is kept as a file, with the keys
//   models      the types that it is, each with the parameters that it stands for
//   parameters  what a section of that type may say, with defaults, or `required`
//   blocks, layers, and head, where the section has none
struct ModelFile {
  std::string file;  // for messages
  std::string_view text;
};

// The file of a `type:`; nullopt where it is none's.
using FindModelFile = std::function<std::optional<ModelFile>(std::string_view type)>;

// The key paths of the parameters that the job's model has: "model.alpha" of a model file,
// "model.parameters.alpha" of its own. None without `find`.
[[nodiscard]] std::vector<std::string> ParameterPaths(const Tree& job, const FindModelFile& find);

// Writes out the blocks, repetitions and conditions of the job's `model`, and the model files that
// it or its layers name: such a model becomes one of type Functional. Faults are added at the lines
// that have them; the model is of no use if there are any. At most 20,000 layers.
void ExpandModel(Tree& job, const FindModelFile& find, Sources& sources, Faults& faults);

}  // namespace tpuest::config
