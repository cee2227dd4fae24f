#include "core/backend/pjrt/processes.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

// Limit of the wait for the other processes' devices, whose plugins may start one after another.
constexpr double kDevicesSecs = 300;

void DeleteValue(char* value) { delete[] value; }

pjrt::Error* Fails(pjrt::CallbackError* make, pjrt::ErrorCode code, const std::string& text) {
  return (*make)(code, text.data(), text.size());
}

// Implements Get and TryGet, which differ in how long they wait and which error reports a missing
// key.
template <class Args>
pjrt::Error* Answer(Args* args, double seconds, pjrt::ErrorCode without) {
  const std::string_view key(args->key, args->key_size);
  try {
    const std::optional<std::string> value =
        static_cast<KeyValueStore*>(args->user_arg)->Get(key, seconds);
    if (!value) {
      return Fails(args->callback_error, without, fmt::format("no process has put '{}'", key));
    }
    args->value = new char[value->size() + 1];
    std::memcpy(args->value, value->c_str(), value->size() + 1);
    args->value_size = value->size();
    args->value_deleter_callback = DeleteValue;
    return nullptr;
  } catch (const Error& error) {
    return Fails(args->callback_error, pjrt::ErrorCode::kUnavailable, error.message());
  }
}

pjrt::Error* GetKey(pjrt::KeyValueGetCallbackArgs* args) {
  return Answer(args, args->timeout_in_ms / 1000.0, pjrt::ErrorCode::kDeadlineExceeded);
}

pjrt::Error* TryGetKey(pjrt::KeyValueTryGetCallbackArgs* args) {
  return Answer(args, 0, pjrt::ErrorCode::kNotFound);
}

pjrt::Error* PutKey(pjrt::KeyValuePutCallbackArgs* args) {
  try {
    static_cast<KeyValueStore*>(args->user_arg)
        ->Put({args->key, args->key_size}, {args->value, args->value_size});
    return nullptr;
  } catch (const Error& error) {
    return Fails(args->callback_error, pjrt::ErrorCode::kUnavailable, error.message());
  }
}

std::string DevicesKey(int rank) { return fmt::format("tpuest/devices/{}", rank); }

int64_t NumberIn(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

void AddProcesses(const PjrtProcesses& processes, int devices_of_each,
                  const std::vector<int64_t>& visible, ClientOptions& options) {
  options.Add("node_id", int64_t{processes.rank});
  options.Add("num_nodes", int64_t{processes.size});
  if (processes.share_machine) {
    const int64_t first = int64_t{processes.rank} * devices_of_each;
    if (!visible.empty() && std::ssize(visible) < first + devices_of_each) {
      throw Error(Code::kUsage,
                  fmt::format("{} GPUs are visible, but the processes of this machine need {}",
                              visible.size(), int64_t{processes.size} * devices_of_each))
          .Key("run_config.session_config.gpu_options.visible_device_list");
    }
    std::vector<int64_t> own;
    for (int64_t i = first; i < first + devices_of_each; ++i) {
      own.push_back(visible.empty() ? i : visible[static_cast<size_t>(i)]);
    }
    options.Add("visible_devices", std::move(own));
  } else if (!visible.empty()) {
    options.Add("visible_devices", visible);
  }
  options.Add(kNewestOption, true);
}

void UseKeys(KeyValueStore& keys, pjrt::ClientCreateArgs& create) {
  create.kv_get_callback = GetKey;
  create.kv_get_user_arg = &keys;
  create.kv_put_callback = PutKey;
  create.kv_put_user_arg = &keys;
  create.kv_try_get_callback = TryGetKey;
  create.kv_try_get_user_arg = &keys;
}

std::vector<int64_t> DevicesOfAll(const PjrtProcesses& processes, const std::vector<int64_t>& own) {
  std::vector<std::string> texts;
  for (const int64_t id : own) texts.push_back(std::to_string(id));
  processes.keys->Put(DevicesKey(processes.rank), Join(texts, " "));
  std::vector<int64_t> all;
  for (int rank = 0; rank < processes.size; ++rank) {
    const std::optional<std::string> ids = processes.keys->Get(DevicesKey(rank), kDevicesSecs);
    if (!ids) {
      throw Error(Code::kLost, fmt::format("process {} did not report its devices within {} s",
                                           rank, kDevicesSecs));
    }
    const std::vector<std::string> words = Split(*ids, ' ');
    if (words.size() != own.size()) {
      throw Error(Code::kUsage,
                  fmt::format("process {} has {} devices, process {} {}", rank, words.size(),
                              processes.rank, own.size()),
                  "a group has as many in each");
    }
    for (const std::string& word : words) all.push_back(NumberIn(word));
  }
  return all;
}

}  // namespace tpuest
