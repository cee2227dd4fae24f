// Event files: a single event, a file as it is, or one with corrected checksums.

#include "core/io/events/event_codec.h"
#include "core/io/events/event_reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/records.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {

void RunEvents(std::string_view input) {
  const uint8_t choice = TakeChoice(input);
  if (choice % 4 != 0) {
    const EventData event = DecodeEvent(input, "event");
    // A decoded event can be encoded and decoded again.
    (void)DecodeEvent(EncodeEvent(event), "event");
    return;
  }
  const bool is_repaired = (choice & 4) != 0;
  EventReader reader(TheFiles().Put("events", is_repaired ? WithRightChecksums(input) : input));
  EventData event;
  while (reader.Next(event)) {
  }
}

}  // namespace tpuest::fuzz
