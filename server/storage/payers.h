#ifndef FOREBAY_SERVER_STORAGE_PAYERS_H_
#define FOREBAY_SERVER_STORAGE_PAYERS_H_

#include "server/storage/byte_source.h"

namespace forebay::storage {

// Adds the payers of `joining` to those of `purpose`, each once. Never blocks.
// Not thread-safe: the caller holds the lock that guards `purpose`.
void AddPayers(const ReadPurpose& joining, ReadPurpose* purpose);

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_PAYERS_H_
