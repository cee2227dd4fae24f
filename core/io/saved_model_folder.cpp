#include "core/io/saved_model_folder.h"

#include "core/base/process/files.h"

namespace tpuest {

std::string_view SavedModelName(bool as_text) {
  return as_text ? "saved_model.pbtxt" : "saved_model.pb";
}

std::string SavedModelPath(const std::string& folder, bool as_text) {
  return JoinPath(folder, SavedModelName(as_text));
}

bool IsSavedModel(const std::string& folder) {
  return FileExists(SavedModelPath(folder, false)) || FileExists(SavedModelPath(folder, true));
}

std::string SavedModelVariables(const std::string& folder) {
  return JoinPath(JoinPath(folder, kVariables), kVariables);
}

}  // namespace tpuest
