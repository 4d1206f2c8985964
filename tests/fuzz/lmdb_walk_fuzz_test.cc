// Fuzzes the walk through an LMDB file. The walk ends for any bytes. The
// entries that it finds lie within the file, whatever pieces of the file it is
// shown.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/dataset/lmdb/lmdb_page.h"
#include "server/dataset/lmdb/lmdb_walk.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::dataset::lmdb::kLmdbMetaBytes;
using forebay::dataset::lmdb::LmdbEntry;
using forebay::dataset::lmdb::LmdbWalk;
using forebay::dataset::lmdb::NewestLmdbTransaction;
using forebay::fuzz::Require;
using forebay::fuzz::Touch;
using Bytes = absl::Span<const std::uint8_t>;

struct Result {
  std::string error;
  std::vector<LmdbEntry> entries;
  std::uint64_t page_bytes = 0;
  std::uint64_t transaction = 0;
};

// Walks through a file that is shown in pieces. A piece has only the wanted
// bytes if `alone`, or all bytes up to the file's end.
Result Walk(Bytes bytes, const std::string& database, bool alone) {
  Result result;
  auto walk = LmdbWalk::Create("data.mdb", bytes.size(), database);
  if (!walk.ok()) {
    result.error = walk.status().ToString();
    return result;
  }
  // The walk may request the pages of two trees, and the meta pages.
  std::size_t most_pieces = 2 * (bytes.size() / 512) + 2;
  while (const auto wanted = walk->wanted()) {
    Require(wanted->offset <= bytes.size() &&
            wanted->length <= bytes.size() - wanted->offset);
    Require(most_pieces-- > 0);
    const auto piece =
        bytes.subspan(wanted->offset, alone ? wanted->length : Bytes::npos);
    const absl::Status status =
        walk->Parse(wanted->offset, piece, &result.entries);
    if (!status.ok()) {
      Require(!walk->wanted().has_value());
      result.error = status.ToString();
    }
  }
  result.page_bytes = walk->page_bytes();
  result.transaction = walk->transaction();
  return result;
}

void CheckEntries(Bytes bytes, const std::vector<LmdbEntry>& entries) {
  for (const LmdbEntry& entry : entries) {
    Require(entry.offset <= bytes.size() &&
            entry.length <= bytes.size() - entry.offset);
    Require(entry.key.size() < 32768);
    if (entry.length > 0) {
      Touch(&bytes[entry.offset], 1);
      Touch(&bytes[entry.offset + entry.length - 1], 1);
    }
  }
}

void CheckTransaction(Bytes bytes, const Result& result) {
  if (!result.error.empty()) return;
  const auto transaction = NewestLmdbTransaction(
      bytes.subspan(0, kLmdbMetaBytes), bytes.subspan(result.page_bytes));
  Require(transaction.ok() && *transaction == result.transaction);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const Bytes bytes(data, size);
  for (const char* database : {"", "train"}) {
    const Result result = Walk(bytes, database, true);
    CheckEntries(bytes, result.entries);
    CheckTransaction(bytes, result);
    const Result again = Walk(bytes, database, false);
    Require(again.error == result.error &&
            again.entries.size() == result.entries.size());
    for (std::size_t i = 0; i < again.entries.size(); ++i) {
      Require(again.entries[i].key == result.entries[i].key &&
              again.entries[i].offset == result.entries[i].offset &&
              again.entries[i].length == result.entries[i].length);
    }
  }
  return 0;
}
