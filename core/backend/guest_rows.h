#pragma once
// Rows of one variable of a table in a message: for each a byte, 1 where it is written, then the
// values of those that are.

#include <cstdint>
#include <vector>

#include "core/backend/message.h"
#include "core/backend/row_table.h"

namespace tpuest {

inline void PutRows(MessageWriter& message, const GuestRows& rows, int64_t width) {
  const auto n = static_cast<size_t>(width);
  for (const bool written : rows.written) message.Number(written);
  for (size_t i = 0; i < rows.rows.size(); ++i) {
    if (rows.written[i]) message.Numbers(rows.values.data() + i * n, n);
  }
}

// Adds these rows, as PutRows has put them, behind those that `guests` has.
inline void TakeRows(MessageReader& message, const std::vector<int64_t>& rows, int64_t width,
                     GuestRows& guests) {
  const auto n = static_cast<size_t>(width);
  const size_t first = guests.rows.size();
  for (const int64_t row : rows) {
    guests.rows.push_back(row);
    guests.written.push_back(message.Number<bool>());
  }
  guests.values.resize(guests.rows.size() * n);
  for (size_t i = first; i < guests.rows.size(); ++i) {
    if (guests.written[i]) message.Numbers(guests.values.data() + i * n, n);
  }
}

}  // namespace tpuest
