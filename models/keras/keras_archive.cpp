#include "models/keras/keras_archive.h"

#include <string>

#include "core/io/hdf5/writer.h"
#include "core/io/zip/zip.h"

namespace tpuest {

std::string KerasArchiveBytes(const KerasArchive& archive) {
  const KerasJson metadata = {{"keras_version", archive.keras_version},
                              {"date_saved", archive.date_saved}};
  Hdf5Writer weights;
  weights.AddGroup("vars");  // of the model itself: Keras 2.15 asks for it
  for (const KerasVariables& object : archive.objects) {
    const std::string vars = object.path.empty() ? "vars" : object.path + "/vars";
    weights.AddGroup(vars);
    for (size_t i = 0; i < object.values.size(); ++i) {
      weights.AddDataset(vars + "/" + std::to_string(i), object.values[i]);
    }
  }
  const std::string metadata_text = metadata.dump();
  const std::string config_text = archive.config.dump();
  const std::string weights_bytes = weights.Finish();
  return ZipArchive({{"metadata.json", metadata_text},
                     {"config.json", config_text},
                     {"model.weights.h5", weights_bytes}});
}

}  // namespace tpuest
