#pragma once
// Rows of one variable of a table in a message: a byte per row, 1 if it is written, then the values
// of the written rows.

#include <cstdint>
#include <cstring>
#include <span>

#include "core/backend/rows/row_table.h"
#include "core/base/message.h"
#include "core/tensor/prefetch.h"

namespace tpuest {

// The most bytes that a row takes.
inline size_t BytesOfPutRow(int64_t width) {
  return 1 + static_cast<size_t>(width) * sizeof(float);
}

// Appends these rows of a table, with the values of the rows that were written here.
inline void PutRows(MessageWriter& message, const RowTable& table, int column,
                    std::span<const int64_t> rows) {
  const size_t bytes = static_cast<size_t>(table.width()) * sizeof(float);
  char* const written = message.Room(rows.size() * BytesOfPutRow(table.width()));
  char* values = written + rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kRowsAhead < rows.size()) table.Prefetch(rows[i + kRowsAhead]);
    const float* const found = table.FindValues(column, rows[i]);
    written[i] = found != nullptr ? 1 : 0;
    if (found == nullptr) continue;
    std::memcpy(values, found, bytes);
    values += bytes;
  }
  message.EndAt(values);
}

// Reads the `count` rows that PutRows appended; the i-th becomes row `place(i)` of `rows`, which
// has been resized.
template <class PlaceFn>
void TakeRows(MessageReader& message, size_t count, int64_t width, RemoteRows& rows,
              const PlaceFn& place) {
  const auto n = static_cast<size_t>(width);
  for (size_t i = 0; i < count; ++i) rows.written[place(i)] = message.Number<uint8_t>();
  for (size_t i = 0; i < count; ++i) {
    if (rows.written[place(i)] != 0) message.Numbers(rows.values.data() + place(i) * n, n);
  }
}

}  // namespace tpuest
