#ifndef FOREBAY_SERVER_DATASET_INDEX_FOLDER_H_
#define FOREBAY_SERVER_DATASET_INDEX_FOLDER_H_

#include <cstdint>
#include <string>

// Bounds the folder that holds saved indexes and their access points. Without a
// bound, the files of datasets that no longer exist would stay for ever. The
// functions are thread-safe and block for the disk.

namespace forebay::dataset {

// Returns the number of bytes that all index files in the folder may take
// together. This is half the sum of the disk's free bytes and the bytes of
// these files. Returns UINT64_MAX if the disk does not tell its free bytes.
std::uint64_t RoomInIndexFolder(const std::string& directory);

// Removes the least recently used index files until the others take at most
// `most_bytes` bytes. The later of a file's access and modification times
// counts as its last use. The most recently used index file is never removed,
// nor are files of other kinds. Open files stay readable. Has no errors: a file
// that cannot be removed stays.
void TrimIndexFolder(const std::string& directory, std::uint64_t most_bytes);

}  // namespace forebay::dataset

#endif  // FOREBAY_SERVER_DATASET_INDEX_FOLDER_H_
