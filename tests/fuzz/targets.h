#pragma once
// The fuzz targets. Each processes one input; an Error that it throws is a refusal. The head of its
// source describes the input.

#include <string_view>

namespace tpuest::fuzz {

void RunBundle(std::string_view input);
void RunCsv(std::string_view input);
void RunEvents(std::string_view input);
void RunExample(std::string_view input);
void RunFormula(std::string_view input);
void RunGraphdef(std::string_view input);
void RunIdx(std::string_view input);
void RunImages(std::string_view input);
void RunJob(std::string_view input);
void RunKeras(std::string_view input);
void RunOverrides(std::string_view input);
void RunRows(std::string_view input);
void RunSavedModel(std::string_view input);
void RunText(std::string_view input);
void RunTfConfig(std::string_view input);
void RunTfrecord(std::string_view input);

}  // namespace tpuest::fuzz
