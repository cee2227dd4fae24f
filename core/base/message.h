#pragma once
// Messages between processes of one program on machines of one kind: numbers in the processor's
// byte order; lists and texts preceded by their lengths.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace tpuest {

class MessageWriter {
 public:
  template <class T>
  void Number(T value) {
    Numbers(&value, 1);
  }
  template <class T>
  void Numbers(const T* from, size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(from), n * sizeof(T));
  }
  template <class T>
  void List(const std::vector<T>& list) {
    Number(static_cast<uint64_t>(list.size()));
    Numbers(list.data(), list.size());
  }
  void Text(std::string_view text) {
    Number(static_cast<uint64_t>(text.size()));
    bytes_ += text;
  }
  // Appends `bytes` bytes, which the caller fills before the next call.
  [[nodiscard]] char* Room(size_t bytes) {
    bytes_.resize(bytes_.size() + bytes);
    return bytes_.data() + bytes_.size() - bytes;
  }
  // Drops the part of the last Room after `end`.
  void EndAt(const char* end) { bytes_.resize(static_cast<size_t>(end - bytes_.data())); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // Returns the bytes and leaves the writer empty.
  [[nodiscard]] std::string Take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

// Reads values from the front. Check fails if a value is missing: the message is from another
// program.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : left_(bytes) {}

  template <class T>
  [[nodiscard]] T Number() {
    T value{};
    Numbers(&value, 1);
    return value;
  }
  template <class T>
  void Numbers(T* to, size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::string_view taken = Take(n * sizeof(T));
    if (n > 0) std::memcpy(to, taken.data(), taken.size());
  }
  template <class T>
  [[nodiscard]] std::vector<T> List() {
    const auto n = Number<uint64_t>();
    Check(n <= left_.size() / sizeof(T), "a message ends too early");
    std::vector<T> list(n);
    Numbers(list.data(), n);
    return list;
  }
  [[nodiscard]] std::string_view Text() { return Take(Number<uint64_t>()); }
  [[nodiscard]] bool is_at_end() const { return left_.empty(); }

 private:
  std::string_view Take(size_t bytes) {
    Check(bytes <= left_.size(), "a message ends too early");
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }

  std::string_view left_;
};

}  // namespace tpuest
