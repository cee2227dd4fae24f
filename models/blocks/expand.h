#pragma once
// Models in pieces: named blocks of layers with parameters, repetition and conditions, and model
// files made of them. They are expanded before the job is read, into a plain list of layers, each
// with the place of its line.
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
//   if: FORMULA      skips the item if the formula is false
//   repeat: N        repeats the item N times with `i` = 0, 1, ...; or a list of sections of
//                    parameters, one per repetition, which a block takes as its own
//   as: LABEL        the name that layers of the same list use for the item in `inputs`
//   block: NAME      the block's layers, with the parameters in the same item; `inputs` is their
//                    `input`, by default the layer before
// A model may have `parameters: {NAME: VALUE}`, which its layers, its blocks and its other keys can
// use; a block's own parameter hides one of the model's. ${FORMULA} (config/formula/expression.h)
// in any text is replaced by its value; a text that is only a formula takes the type of the value.
// ${NAME} that is not a parameter is left for the job's variables.

#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/tree.h"
#include "core/base/faults.h"
#include "models/blocks/model_file.h"

namespace tpuest::models {

// Returns the key paths of the parameters of the job's model: "model.alpha" for a model file,
// "model.parameters.alpha" for its own.
[[nodiscard]] std::vector<std::string> ParameterPaths(const config::Tree& job,
                                                      const ModelFinder& find);

// Expands the blocks, repetitions and conditions of the job's `model`, and the model files that it
// or its layers name: such a model becomes one of type Functional. Adds faults at their lines;
// after a fault the model must not be used. At most 20,000 layers.
void ExpandModel(config::Tree& job, const ModelFinder& find, config::Sources& sources,
                 Faults& faults);

}  // namespace tpuest::models
