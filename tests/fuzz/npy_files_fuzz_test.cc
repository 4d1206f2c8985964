// Fuzzes datasets of .npy files. Indexing ends for any bytes, and each row that
// is found lies within its file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/base/working_memory.h"
#include "server/dataset/npy/npy_index.h"
#include "server/dataset/npy/npy_scan.h"
#include "server/storage/object_lister.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/fuzz/require.h"
#include "tests/unit/server/base/ample_budget.h"

namespace {

namespace npy = forebay::dataset::npy;
namespace storage = forebay::storage;
using forebay::fuzz::Require;

void CheckRow(const npy::NpyIndex& index, std::uint64_t row,
              std::uint64_t file_bytes) {
  const npy::NpyIndex::Extent extent = index.ExtentOf(row);
  Require(extent.offset <= file_bytes &&
          index.row_bytes() <= file_bytes - extent.offset);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  storage::MemorySource source;
  const storage::ObjectVersion version = source.Put(
      "a.npy", std::string(reinterpret_cast<const char*>(data), size));
  forebay::base::WorkingMemory memory(forebay::base::AmpleBudget(), "files");
  std::vector<storage::ListedObject> files = {{"a.npy", version}};
  const npy::NpyScanOptions one_thread = {.files_at_once = 1, .stop = {}};
  const auto once =
      npy::ScanNpyFiles(source, source.root(), files, one_thread, memory);
  files.push_back(files[0]);
  const auto twice =
      npy::ScanNpyFiles(source, source.root(), files, one_thread, memory);
  Require(once.ok() == twice.ok());
  if (!once.ok()) return 0;
  const std::uint64_t rows = (*once)->size();
  Require((*once)->row_bytes() > 0 && rows <= size);
  Require((*twice)->size() == 2 * rows);
  if (rows == 0) return 0;
  CheckRow(**once, 0, size);
  CheckRow(**once, rows - 1, size);
  CheckRow(**twice, rows, size);
  Require((*twice)->ExtentOf(rows).file == 1 &&
          (*twice)->ExtentOf(rows).row == 0);
  return 0;
}
