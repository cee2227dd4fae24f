#pragma once
// Rows of one variable of a table in a message: for each a byte, 1 where it is written, then the
// values of those that are.

#include <algorithm>
#include <cstdint>

#include "core/backend/message.h"
#include "core/backend/row_table.h"

namespace tpuest {

inline void PutRows(MessageWriter& message, const GuestRows& rows, int64_t width) {
  const auto n = static_cast<size_t>(width);
  message.Reserve(rows.written.size() + rows.values.size() * sizeof(float));
  message.Numbers(rows.written.data(), rows.written.size());
  const bool all = std::find(rows.written.begin(), rows.written.end(), 0) == rows.written.end();
  if (all) return message.Numbers(rows.values.data(), rows.values.size());
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    if (rows.written[i] != 0) message.Numbers(rows.values.data() + i * n, n);
  }
}

// Takes as many rows as PutRows has put; the i-th is row `place(i)` of `rows`, which has room.
template <class PlaceFn>
void TakeRows(MessageReader& message, size_t count, int64_t width, GuestRows& rows,
              const PlaceFn& place) {
  const auto n = static_cast<size_t>(width);
  for (size_t i = 0; i < count; ++i) rows.written[place(i)] = message.Number<uint8_t>();
  for (size_t i = 0; i < count; ++i) {
    if (rows.written[place(i)] != 0) message.Numbers(rows.values.data() + place(i) * n, n);
  }
}

}  // namespace tpuest
