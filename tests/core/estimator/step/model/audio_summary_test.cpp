// Sounds of summaries have the bytes that tf.compat.v1.summary.audio writes for the same tensors.

#include <doctest/doctest.h>

#include <limits>

#include "core/estimator/step/model/media_summaries.h"
#include "core/io/events/event_codec.h"

namespace tpuest {
namespace {

std::string HexOf(const std::string& bytes) {
  std::string hex;
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

}  // namespace

TEST_CASE("samples are rounded to 16 bits and clipped") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kStep = 1.0F / 32768;
  const Tensor sounds = Tensor::Of<float>(
      {1, 10}, {0, 0.5F, -1, 1, 2, -2, 1.5F * kStep, 0.5F * kStep, 2.5F * kStep, nan});
  const std::vector<SummaryValue> shown = AudioSummaries("a", sounds, 3, 8000);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].tag == "a/audio/0");
  const auto& audio = std::get<AudioData>(shown[0].value);
  CHECK(audio.sample_rate == 8000);
  CHECK(audio.channels == 1);
  CHECK(audio.frames == 10);
  CHECK(audio.content_type == "audio/wav");
  CHECK(HexOf(audio.encoded) ==
        "524946463800000057415645666d74201000000001000100401f0000803e0000020010006461746114000000"
        "000000400080ff7fff7f00800200010003000000");
}

TEST_CASE("a frame has a sample per channel, and a single sound has no number") {
  std::vector<float> samples;
  for (int i = 0; i < 24; ++i) samples.push_back(-1 + 2 * static_cast<float>(i) / 23);
  const std::vector<SummaryValue> shown =
      AudioSummaries("a", Tensor::Of<float>({2, 6, 2}, samples), 1, 44100.6F);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].tag == "a/audio");
  const auto& audio = std::get<AudioData>(shown[0].value);
  CHECK(audio.channels == 2);
  CHECK(audio.frames == 6);
  CHECK(HexOf(audio.encoded) ==
        "524946463c00000057415645666d7420100000000100020045ac000014b102000400100064617461180000000"
        "080218b439664a186aca7b7c8c2eacd0bd92de44eef6ffa");
}

TEST_CASE("an event contains a sound") {
  const EventData event{.step = 3,
                        .kind = EventData::Kind::kSummary,
                        .values = AudioSummaries("a", Tensor::Of<float>({1, 2}, {0, 1}), 1, 8000)};
  const EventData read = DecodeEvent(EncodeEvent(event), "events");
  REQUIRE(read.values.size() == 1);
  CHECK(std::get<AudioData>(read.values[0].value) == std::get<AudioData>(event.values[0].value));
}

}  // namespace tpuest
