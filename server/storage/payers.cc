#include "server/storage/payers.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace forebay::storage {

void AddPayers(const ReadPurpose& joining, ReadPurpose* purpose) {
  const absl::Span<const std::uint64_t> before = PayersOf(*purpose);
  std::vector<std::uint64_t> payers(before.begin(), before.end());
  for (const std::uint64_t payer : PayersOf(joining)) {
    if (std::find(payers.begin(), payers.end(), payer) == payers.end())
      payers.push_back(payer);
  }
  if (payers.size() == before.size()) return;
  purpose->payers =
      std::make_shared<const std::vector<std::uint64_t>>(std::move(payers));
}

}  // namespace forebay::storage
