#pragma once
// Converts EventData to and from the bytes of an Event message.

#include <string>
#include <string_view>

#include "core/io/events/event.h"

namespace tpuest {

[[nodiscard]] std::string EncodeEvent(const EventData& event);
// `file` names the source in an Error of Code::kData.
[[nodiscard]] EventData DecodeEvent(std::string_view bytes, const std::string& file);

}  // namespace tpuest
