#ifndef FOREBAY_SERVER_DATASET_INDEX_FOLDER_H_
#define FOREBAY_SERVER_DATASET_INDEX_FOLDER_H_

#include <cstdint>
#include <string>

// Bounds the folder that indexes and their access points are kept in: those of
// datasets that are gone would stay for ever. Thread-safe. Blocks for the disk.

namespace forebay::dataset {

// Returns the bytes that its files may take together: half of what is free on
// their disk and what they take. UINT64_MAX: that cannot be told.
std::uint64_t RoomInIndexFolder(const std::string& directory);

// Removes the files that were used the longest ago, as their times of access
// and change say, until the others take at most so many bytes. The last used
// one stays in any case, and so does what is no index. A file that is open
// stays readable. Does what can be done: has no errors.
void TrimIndexFolder(const std::string& directory, std::uint64_t most_bytes);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_FOLDER_H_
