#include "core/backend/cpu/copied_reads.h"

#include <cstdint>
#include <cstring>

#include "core/backend/rows/row_table.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

constexpr int64_t kMostCopiedBytes = int64_t{1} << 30;

}  // namespace

Kernel CopyOfRead(const Node& read, const void* memory, Buffer copy) {
  const size_t bytes =
      static_cast<size_t>(read.output_shape(0).elements()) * SizeOf(read.output_dtype(0));
  return [copy, memory, bytes](const Task& task) { std::memcpy(task.At(copy), memory, bytes); };
}

Kernel CopyOfRows(const Node& read, const RowColumn& rows, Buffer copy) {
  const auto bytes = static_cast<int64_t>(sizeof(float)) * read.output_shape(0).elements();
  if (bytes > kMostCopiedBytes) {
    throw Error(Code::kUsage,
                fmt::format("\"{}\" is read whole, and its table, of {} bytes, is kept by rows",
                            read.input(0).node->Attr<std::string>("shared_name"), bytes),
                "remove the summary, hook or penalty that reads its weights")
        .At(read.origin());
  }
  return [copy, rows = &rows](const Task& task) {
    rows->table->ReadRange(rows->column, 0, rows->table->rows(), task.At<float>(copy));
  };
}

}  // namespace tpuest
